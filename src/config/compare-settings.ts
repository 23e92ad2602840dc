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
  const [wasPriced, isPriced] = [pricedIn(before), pricedIn(after)]
  for (const name of now)
    if (old.has(name) && isPriced.has(name) !== wasPriced.has(name))
      prices.push(`price of ${name}: ${isPriced.has(name) ? 'no longer free' : 'now free'}`)
  const added = [...now]
    .filter(name => !old.has(name))
    .map(name => `model ${name} added (${pricesOf(name, after).join(', ') || 'free'})`)
  const removed = [...old].filter(name => !now.has(name)).map(name => `model ${name} removed`)
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

function modelsIn(settings: Settings): ReadonlySet<string> {
  return new Set(Object.keys(settings).flatMap(path => modelOf(path)?.name ?? []))
}

/** Models with a price; all others are free. */
function pricedIn(settings: Settings): ReadonlySet<string> {
  const models = Object.keys(settings).map(modelOf)
  return new Set(models.flatMap(model => (model && labelOf(model.rest) !== undefined ? model.name : [])))
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

/** The prices of a model, one text each; none for a free model. */
function pricesOf(model: string, settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([path, price]) => {
    const found = modelOf(path)
    const label = found?.name === model ? labelOf(found.rest) : undefined
    return label === undefined ? [] : [`${label} ${amount(price, settings)}`]
  })
}
