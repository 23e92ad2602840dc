import type { ChargeItem, ChargeItemRule, TierRule, TierSource } from '../../src/plugin-api/index.ts'
import { priceQuantity } from '../../src/pricing/index.ts'
import { reportedQuantity } from './line-rules.ts'
import type { Come } from './price-image.ts'
import type { Size } from './tier.ts'

/** A charge item before it has its number. */
export type Unplaced = Omit<ChargeItem, 'index'>

/** The time at which an item is written: with each image, with the first one, or when the answer is complete. */
export type Moment = 'image' | 'first' | 'end'

export function momentOf(rule: TierRule, line: ChargeItemRule): Moment {
  if (!line.once) return 'image'
  return line.from !== undefined && rule.facts?.includes(line.from) ? 'end' : 'first'
}

/** The items for one moment, by the rule of their charge and the facts known then. */
export function rateLines(rule: TierRule, moment: Moment, come: Come): readonly Unplaced[] {
  if (!rule.lines) return []
  return rule.lines.filter(line => momentOf(rule, line) === moment).flatMap(line => rateLine(rule, line, come))
}

type Amounts = {
  readonly amounts: readonly number[]
  readonly source: TierSource
  readonly size?: Size
  readonly fact?: readonly [name: string, value: string]
  /** Whether the answer does not report the quantity. */
  readonly unreported?: true
  /** Whether the family sets no value for it either, so that the maximum applies. */
  readonly estimated?: true
}

/** The items of one line: two if the first unit of a picture has a separate price, none if the quantity is 0. */
export function rateLine(rule: TierRule, line: ChargeItemRule, come: Come): readonly Unplaced[] {
  const { amounts, source, size, fact, unreported, estimated } = amountsOf(rule, line, come)
  const flags: string[] = []
  if (amounts.some(amount => amount > (line.max ?? amount))) flags.push('capped')
  if (unreported) flags.push('untold')
  if (estimated) flags.push('estimated')
  const itemFacts = itemFactsOf(source, size, fact)
  const measured = source === 'told' ? undefined : size
  const rest = {
    source,
    width: measured?.width ?? null,
    height: measured?.height ?? null,
    flags,
    ...(itemFacts && { told: itemFacts }),
  }
  const parts = partsOf(line, amounts).filter(({ quantity }, i) => quantity > 0 || (unreported && i === 0))
  return parts.map(({ name, price, quantity }) => ({ tier: name, price, quantity, ...rest }))
}

/** Splits amounts by price: first units, and the others. */
function partsOf(line: ChargeItemRule, amounts: readonly number[]) {
  let [first, rest] = [0, 0]
  for (const amount of amounts) {
    const capped = Math.min(amount, line.max ?? amount)
    const counted = line.whole ? Math.ceil(capped / line.unit) * line.unit : capped
    const own = line.first ? Math.min(counted, line.unit) : 0
    first += own
    rest += counted - own
  }
  const part = ({ name, price }: { readonly name: string; readonly price: number }, amount: number) => ({
    name,
    price: priceQuantity(amount, price, line.unit),
    quantity: line.whole ? amount / line.unit : amount,
  })
  return line.first ? [part(line.first, first), part(line, rest)] : [part(line, rest)]
}

function itemFactsOf(source: TierSource, size: Size | undefined, fact: Amounts['fact']): ChargeItem['told'] {
  if (fact) return { facts: { [fact[0]]: fact[1] } }
  return source === 'told' && size ? { size } : undefined
}

function amountsOf(rule: TierRule, line: ChargeItemRule, come: Come): Amounts {
  if (line.per === 'megapixel' && line.asked === undefined) return pixelsOf(rule, line, come)
  const { from } = line
  const fact = from !== undefined && rule.facts?.includes(from) ? come.facts?.get(from) : undefined
  const quantity = fact === undefined ? undefined : reportedQuantity(line.per, fact)
  if (from !== undefined && quantity !== undefined)
    return { amounts: [quantity], source: 'told', fact: [from, String(fact)] }
  if (line.asked) return { amounts: line.asked, source: 'request' }
  const unknown = { source: 'default', unreported: true } as const
  if (line.otherwise !== undefined) return { ...unknown, amounts: [line.otherwise] }
  if (line.missing && come.isSilent) return { ...unknown, amounts: [line.max ?? 0], estimated: true }
  return { ...unknown, amounts: [0] }
}

/** The pixels of a returned image: by the answer's facts, its bytes, or the requested size. */
function pixelsOf(rule: TierRule, line: ChargeItemRule, { reported, output }: Come): Amounts {
  for (const source of rule.tierFrom) {
    const size = source === 'told' ? reported : source === 'output' ? output : (rule.askedSize ?? null)
    // Marks that the answer should have reported the size, because the requested size replaces it.
    const isUnreported = source === 'request' && rule.tierFrom[0] !== 'request'
    if (size) return { amounts: [size.width * size.height], source, size, ...(isUnreported && { unreported: true }) }
  }
  return { amounts: [line.otherwise ?? line.max ?? line.unit], source: 'default', unreported: true }
}

/** Whether an answer with these facts reports none of the quantities that lines depend on. */
export function isSilent(rule: TierRule, facts: Come['facts']): boolean {
  return (rule.lines ?? []).every(({ from, missing }) => !missing || from === undefined || facts?.has(from) !== true)
}

/** The highest possible charge of the lines of a request for n images, in micro-units. */
export function mostOf(rule: TierRule, n: number): number {
  return (rule.lines ?? []).reduce((total, line) => total + timesOf(line, n) * mostOfLine(rule, line), 0)
}

/** How often a line may be charged for n images: with each, or with each response, which may have only one. */
function timesOf({ once, each }: ChargeItemRule, n: number): number {
  return once && !each ? 1 : n
}

function mostOfLine(rule: TierRule, line: ChargeItemRule): number {
  const isReported = line.from !== undefined && rule.facts?.includes(line.from)
  const isOutput = line.per === 'megapixel' && line.asked === undefined
  const amounts = isReported || isOutput ? [line.max ?? 0] : amountsOf(rule, line, nothingCame).amounts
  return partsOf(line, amounts).reduce((total, { price }) => total + price, 0)
}

/** The expected charge of the lines of a request for n images; null if only the answer decides. */
export function rateLinesBefore(rule: TierRule, n: number, come: Come): number | null {
  let total = 0
  for (const line of rule.lines ?? []) {
    if (line.from !== undefined && rule.facts?.includes(line.from)) return null
    const parts = rateLine(rule, line, come)
    if (line.per === 'megapixel' && line.asked === undefined && parts.some(({ source }) => source === 'default'))
      return null
    total += (line.once ? 1 : n) * parts.reduce((sum, { price }) => sum + price, 0)
  }
  return total
}

const nothingCame: Come = { output: null, reported: null, facts: undefined }
