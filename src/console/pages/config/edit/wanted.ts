import { FieldError } from '../../../kit/field-error.ts'
import { t } from '../../../words/index.ts'
import { type Path, pathText, type Staged, type Value, valueAt, valueText } from './changes.ts'
import type { Entry, EntryField } from './fields.ts'

/** An entry has exactly one of these: if one is set, the others are removed. */
const rivals: { readonly [member: string]: readonly string[] } = {
  upstream: ['upstreams', 'routes'],
  upstreams: ['upstream', 'routes'],
  routes: ['upstream', 'upstreams'],
  prices: ['price'],
  price: ['prices'],
}

/** A mapping without this member counts as empty. */
const needed: { readonly [member: string]: string } = {
  budget: 'amount',
  user_budget: 'amount',
  end_user_budget: 'amount',
}

/**
 * The changes from an entry's current values to those of its fields. A mapping without members is removed.
 * @throws FieldError for a text that is not a number where one is required
 */
export function readChanges(entry: Entry, fields: readonly EntryField[], textOf: (name: string) => string) {
  const whole = entry.whole as Value
  const read = fields.map(field => {
    const was = valueAt(whole, field.path.slice(2)) ?? undefined
    const text = textOf(field.name).trim()
    const isSame = text === (was === undefined ? '' : valueText(was))
    return { ...field, was, isSame, value: isSame ? was : text === '' ? undefined : readValue(field, text) }
  })
  const emptied = new Map<string, Path>()
  for (const { path } of read) {
    const above = path.slice(0, -1)
    if (above.length < 3 || typeof above.at(-1) === 'number') continue
    const isTouched = read.some(one => !one.isSame && pathText(one.path.slice(0, -1)) === pathText(above))
    if (isTouched && remainder(whole, above.slice(2), read) === 0) emptied.set(pathText(above), above)
  }
  const changes: Staged[] = []
  for (const { path, value, was, isSame } of read) {
    const above = path.slice(0, -1)
    const isEmptied = emptied.get(pathText(above))
    if (isEmptied) {
      emptied.delete(pathText(above))
      const all = valueAt(whole, above.slice(2)) ?? undefined
      if (all !== undefined) changes.push({ path: above, was: all })
      continue
    }
    if (isSame || changes.some(one => value === undefined && isWithin(path, one.path))) continue
    changes.push(value === undefined ? { path, was } : { path, value, was })
  }
  const given = new Set(changes.flatMap(({ path, value }) => (value === undefined ? [] : [String(path[2])])))
  return changes.filter(
    ({ path, value }) => value !== undefined || !(rivals[String(path[2])] ?? []).some(rival => given.has(rival)),
  )
}

type Read = { readonly path: Path; readonly value: Value | undefined }

/** The number of members of a mapping after the changes; at least one if it had none and none is set. */
function remainder(whole: Value, above: Path, read: readonly Read[]): number {
  const there = valueAt(whole, above)
  if (there === undefined || there === null || typeof there !== 'object') return 1
  const own = read.filter(({ path }) => pathText(path.slice(2, -1)) === pathText(above))
  const key = needed[String(above.at(-1))]
  if (key !== undefined && own.some(({ path, value }) => path.at(-1) === key && value === undefined)) return 0
  const named = new Set(own.map(({ path }) => String(path.at(-1))))
  const others = Object.keys(there).filter(name => !named.has(name)).length
  return others + own.filter(({ value }) => value !== undefined).length
}

const isWithin = (path: Path, above: Path): boolean =>
  path.length > above.length && above.every((step, i) => path[i] === step)

/** @throws FieldError */
function readValue({ name, kind }: EntryField, text: string): Value {
  if (kind === 'decimal') {
    if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) throw new FieldError(name, () => t('edit.wrong.decimal'))
    return text
  }
  if (kind === 'whole' || kind === 'number') {
    const isNumber = kind === 'whole' ? /^\d{1,15}$/.test(text) : /^\d{1,9}(?:\.\d{1,6})?$/.test(text)
    if (!isNumber) throw new FieldError(name, () => t(kind === 'whole' ? 'edit.wrong.whole' : 'edit.wrong.decimal'))
    return Number(text)
  }
  if (kind === 'day' && /^\d{1,2}$/.test(text)) return Number(text)
  return kind === 'choice' && (text === 'true' || text === 'false') ? text === 'true' : text
}
