import {
  type Body,
  type Family,
  type ForwardRule,
  isEmptyField,
  type Json,
  type Part,
  readField,
} from '../../src/plugin-api/index.ts'
import { pathOfName, readJsonText, valuesAt } from './count-paths.ts'
import { fail } from './errors.ts'

/** The maximum length of a client's text in a rule; no price has a longer name. */
const textMax = 100

/** A request for pricing. */
export type Sent = {
  readonly body: Body
  readonly family: Family
  readonly operation: string
  /** The files of a form that the upstream receives; absent: all of them. */
  readonly files?: ReadonlySet<Part> | undefined
}

/**
 * The value of a field that prices depend on. Undefined if the request does not set it, or if it is not forwarded to
 * the upstream and so cannot have decided the result.
 * @throws Failure price_field_repeated
 */
export function readRequestField(sent: Sent, path: string): string | undefined {
  const body = forwardedOf(sent, path)
  if (!body) return undefined
  if (path.includes('.') && isDoubled(body, path)) throw fail('price_field_repeated', { field: path }, { param: path })
  const values = [...valuesAt(body, path).map(({ value }) => value), ...listedAt(body, path)]
  const texts = new Set(values.flatMap(value => textOf(value) ?? []))
  if (texts.size > 1) throw fail('price_field_repeated', { field: path }, { param: path })
  const [text] = texts
  return text
}

/** The body without the texts of a form that are not forwarded; undefined if the field of a JSON body is not. */
function forwardedOf({ body, family, operation }: Sent, path: string): Body | undefined {
  const rule = family.forward.get(operation)
  if (body.kind === 'form')
    return { ...body, parts: body.parts.filter(part => part.kind === 'file' || isForwarded(rule, part.name)) }
  const [first = ''] = path.split('.')
  return isForwarded(rule, first) ? body : undefined
}

/** The texts of a form under the names of a list, such as `a[]`, which some upstreams read as `a`. */
function listedAt(body: Body, path: string): readonly string[] {
  if (body.kind !== 'form') return []
  return body.parts.flatMap(part => {
    const isListed = part.kind === 'text' && pathOfName(part.name) !== path && fieldOf(part.name) === path
    return isListed ? [part.value] : []
  })
}

/** Whether a member, or one that contains it, is ambiguous; a top-level member of JSON never is. */
function isDoubled(body: Body, path: string): boolean {
  if (body.kind === 'json') {
    const seen = new Set<string>()
    let doubled = false
    body.json.prune((_name, pathOf) => {
      const at = pathOf()
      if (at !== path && !path.startsWith(`${at}.`)) return false
      doubled ||= seen.has(at)
      seen.add(at)
      return false
    })
    return doubled
  }
  if (body.kind !== 'form') return false
  const [first = '', ...rest] = path.split('.')
  // Texts that are JSON may have repeated names at any depth, and names with escapes.
  const inner = body.parts.filter(
    part => part.kind === 'text' && part.name === first && readJsonText(part) !== undefined,
  )
  return inner.some(part => {
    const text = part.kind === 'text' ? part.value : ''
    return text.includes(String.raw`\u`) || rest.some(name => text.split(`"${name}"`).length > 2)
  })
}

export function isForwarded(rule: ForwardRule | undefined, name: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(name) : !rule.except.has(name)
}

/** A value as it appears in the name of a price. */
export function textOf(value: Json): string | undefined {
  if (isEmptyField(value)) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

/** The number of pictures in these fields of the request. */
export function countPictures(sent: Sent, fields: readonly string[]): number {
  const { body, family, operation } = sent
  const rule = family.forward.get(operation)
  if (body.kind === 'json') {
    const passing = fields.filter(name => isForwarded(rule, name) && body.json.has(name))
    return passing.reduce(
      (count, name) => count + (body.json.elements(name) ?? (isNothing(body.json.raw(name)) ? 0 : 1)),
      0,
    )
  }
  return picturePartsOf(sent, fields).length
}

/** The parts of a form with pictures that the upstream receives. */
export function picturePartsOf({ body, family, operation, files }: Sent, fields: readonly string[]): readonly Part[] {
  if (body.kind !== 'form') return []
  const rule = family.forward.get(operation)
  return body.parts.filter(part => {
    if (!fields.includes(fieldOf(part.name))) return false
    return part.kind === 'file' ? files?.has(part) !== false : part.value !== '' && isForwarded(rule, part.name)
  })
}

function isNothing(written: Buffer | undefined): boolean {
  if (!written || written.length > 4) return false
  const text = written.toString('latin1').trim()
  return text === 'null' || text === '""'
}

/** `image` of `image`, `image[]` and `image[2]`. */
export function fieldOf(name: string): string {
  return pathOfName(name.replace(/\[\]$/, '')).replace(/\.\d+$/, '')
}

/** Steps, seconds or tokens that the request sets, in thousandths. @throws Failure invalid_quantity */
export function readQuantity(sent: Sent, path: string, max: number): number | undefined {
  const text = readRequestField(sent, path)
  if (text === undefined) return undefined
  const quantity = parseQuantity(text)
  if (quantity === undefined || quantity > max * 1000)
    throw fail('invalid_quantity', { field: path, max, value: text.slice(0, 40) }, { param: path })
  return quantity
}

/** A quantity from text, in thousandths, rounded up; undefined if it is not a number. */
export function parseQuantity(text: string): number | undefined {
  if (!/^\d{1,9}(?:\.\d{1,30})?$/.test(text)) return undefined
  const [whole = '', places = ''] = text.split('.')
  const rest = /[1-9]/.test(places.slice(3)) ? 1 : 0
  return Number(whole + places.slice(0, 3).padEnd(3, '0')) + rest
}

/** The pictures that a JSON body has in these fields, as sent. @throws Failure field_too_long */
export function picturesOf({ body, family, operation }: Sent, fields: readonly string[]): readonly Json[] {
  const rule = family.forward.get(operation)
  return fields.flatMap((name): readonly Json[] => {
    const value = isForwarded(rule, name) ? (readField(body, name) ?? null) : null
    if (isEmptyField(value)) return []
    return Array.isArray(value) ? value : [value]
  })
}
