import type { ConfigSettings as Settings } from '../domain/index.ts'
import { emptyList } from './flatten-settings.ts'

const cover = '***'

/** `models.NAME.REST`, with the name quoted in brackets if it contains a dot. */
const ofModel = /^models(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])\.(?<rest>.+)$/
const ofPrice = /^prices(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])$/

/** The differences, one line each: prices first, then models, then everything else by path. */
export function compareSettings(before: Settings, after: Settings): string[] {
  const [old, now] = [modelsIn(before), modelsIn(after)]
  const prices: string[] = []
  const others: string[] = []
  for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[path], after[path]]
    // An empty list that was added or removed together with its parent is no change.
    if (was === is || (was ?? emptyList) === (is ?? emptyList)) continue
    const model = modelOf(path)
    // An added or removed model is one line.
    if (model && !(old.has(model.name) && now.has(model.name))) continue
    if (model?.rest === 'price') continue
    const price = describePrice(path, before, after)
    if (price !== undefined) prices.push(price)
    else others.push(`${path}: ${describeChange(was, is)}`)
  }
  const added: string[] = []
  for (const [name, own] of now) {
    const was = old.get(name)
    if (!was) added.push(`model ${name} added (${own.join(', ') || 'free'})`)
    else if (was.length > 0 !== own.length > 0)
      prices.push(`price of ${name}: ${own.length > 0 ? 'no longer free' : 'now free'}`)
  }
  const removed = [...old.keys()].filter(name => !now.has(name)).map(name => `model ${name} removed`)
  return [...prices, ...added, ...removed, ...others]
}

/** If a value is secret in one of the two files, the value of the other file is redacted too. */
function describeChange(was: string | undefined, is: string | undefined): string {
  if (was !== undefined && is !== undefined && (was === cover || is === cover)) return 'changed'
  return `${describeValue(was)} → ${describeValue(is)}`
}

function describeValue(value: string | undefined): string {
  return value === emptyList ? 'none' : (value ?? 'absent')
}

/** Undefined for a path without a price. */
function describePrice(path: string, before: Settings, after: Settings): string | undefined {
  if (path === 'currency') return `currency: ${describeChange(before[path], after[path])}`
  const model = modelOf(path)
  if (!model) return undefined
  const label = labelOf(model.rest)
  if (label === undefined) return undefined
  return `price of ${model.name} ${label}: ${amount(before[path], before)} → ${amount(after[path], after)}`
}

/** The models, each with its prices, one text each; none for a free model. */
function modelsIn(settings: Settings): ReadonlyMap<string, readonly string[]> {
  const models = new Map<string, string[]>()
  for (const [path, value] of Object.entries(settings)) {
    const model = modelOf(path)
    if (!model) continue
    const label = labelOf(model.rest)
    const prices = models.get(model.name) ?? []
    if (label !== undefined) prices.push(`${label} ${amount(value, settings)}`)
    models.set(model.name, prices)
  }
  return models
}

function modelOf(path: string): { readonly name: string; readonly rest: string } | undefined {
  const groups = ofModel.exec(path)?.groups
  return groups && { name: nameIn(groups), rest: groups['rest'] ?? '' }
}

function labelOf(rest: string): string | undefined {
  const groups = ofPrice.exec(rest)?.groups
  return groups && nameIn(groups)
}

function nameIn({ plain, quoted }: { readonly [group: string]: string | undefined }): string {
  return plain ?? (JSON.parse(quoted ?? '""') as string)
}

function amount(price: string | undefined, { currency = '' }: Settings): string {
  return price === undefined ? 'none' : `${price} ${currency}`
}
