import { formatMoney } from '../kit/index.ts'

/** Everything that a plan says, by paths in the file's words. */
export type Settings = { readonly [path: string]: string }

/** `models.NAME.REST`, the name quoted in brackets where it holds a dot. */
const ofModel = /^models(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])\.(?<rest>.+)$/
const ofPrice = /^prices(?:\.(?<plain>[^.[\]]+)|\[(?<quoted>"(?:[^"\\]|\\.)*")\])\.micros$/

/** What is different in `after`, one line each, prices first, then models, then everything else by its path. */
export function compareSettings(before: Settings, after: Settings): string[] {
  const old = Object.entries(before)
  const now = Object.entries(after)
  const models = [namesIn(old), namesIn(now)] as const
  const both = new Set([...models[0]].filter(name => models[1].has(name)))
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    path => before[path] !== after[path],
  )
  const prices: string[] = []
  const others: string[] = []
  for (const path of changed) {
    const model = modelOf(path)
    if (model !== undefined && !both.has(model.name)) continue
    const label = model && labelOf(model.rest)
    const [from, to] = [before[path], after[path]]
    if (path === 'currency') prices.unshift(`currency: ${from ?? 'absent'} → ${to ?? 'absent'}`)
    else if (model && label !== undefined)
      prices.push(`price of ${model.name} ${label}: ${amount(from, before)} → ${amount(to, after)}`)
    else if (model?.rest === 'free')
      prices.push(`price of ${model.name}: ${to === 'true' ? 'now free' : 'no longer free'}`)
    else others.push(`${path}: ${from ?? 'absent'} → ${to ?? 'absent'}`)
  }
  const added = [...models[1]]
    .filter(name => !both.has(name))
    .map(name => `model ${name} added (${pricesOf(name, after)})`)
  const removed = [...models[0]].filter(name => !both.has(name)).map(name => `model ${name} removed`)
  return [...prices, ...added, ...removed, ...others]
}

function namesIn(entries: readonly (readonly [string, string])[]): ReadonlySet<string> {
  return new Set(entries.flatMap(([path]) => modelOf(path)?.name ?? []))
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
