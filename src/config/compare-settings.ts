import { formatMoney } from '../kit/index.ts'

/** Everything that a plan says, by paths in the file's words. */
export type Settings = { readonly [path: string]: string }

/** `models.NAME.REST`, the name quoted in brackets where it holds a dot. */
const ofModel = /^models(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])\.(?<rest>.+)$/
const ofPrice = /^prices(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])\.micros$/

/** What is different in `after`, one line each, prices first, then models, then everything else by its path. */
export function compareSettings(before: Settings, after: Settings): string[] {
  const [old, now] = [modelsIn(before), modelsIn(after)]
  const prices: string[] = []
  const others: string[] = []
  for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[path] === after[path]) continue
    const model = modelOf(path)
    // A model that came or went is one line.
    if (model && !(old.has(model.name) && now.has(model.name))) continue
    const price = describePrice(path, before, after)
    if (price !== undefined) prices.push(price)
    else others.push(`${path}: ${before[path] ?? 'absent'} → ${after[path] ?? 'absent'}`)
  }
  const added = [...now].filter(name => !old.has(name)).map(name => `model ${name} added (${pricesOf(name, after)})`)
  const removed = [...old].filter(name => !now.has(name)).map(name => `model ${name} removed`)
  return [...prices, ...added, ...removed, ...others]
}

/** Undefined for a path that no price stands at. */
function describePrice(path: string, before: Settings, after: Settings): string | undefined {
  if (path === 'currency') return `currency: ${before[path] ?? 'absent'} → ${after[path] ?? 'absent'}`
  const model = modelOf(path)
  if (!model) return undefined
  if (model.rest === 'free') return `price of ${model.name}: ${after[path] === 'true' ? 'now free' : 'no longer free'}`
  const label = labelOf(model.rest)
  if (label === undefined) return undefined
  return `price of ${model.name} ${label}: ${amount(before[path], before)} → ${amount(after[path], after)}`
}

function modelsIn(settings: Settings): ReadonlySet<string> {
  return new Set(Object.keys(settings).flatMap(path => modelOf(path)?.name ?? []))
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

function amount(micros: string | undefined, { currency = '' }: Settings): string {
  return micros === undefined ? 'none' : `${formatMoney(Number(micros))} ${currency}`
}

function pricesOf(model: string, settings: Settings): string {
  const own = Object.entries(settings).flatMap(([path, value]) => {
    const found = modelOf(path)
    return found?.name === model ? [[found.rest, value] as const] : []
  })
  if (own.some(([rest, value]) => rest === 'free' && value === 'true')) return 'free'
  const prices = own.flatMap(([rest, micros]) => {
    const label = labelOf(rest)
    return label === undefined ? [] : [`${label} ${amount(micros, settings)}`]
  })
  return prices.join(', ') || 'no price'
}
