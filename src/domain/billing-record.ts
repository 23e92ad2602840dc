import { type Account, chargerOf } from './account.ts'
import {
  type Charge,
  courseMembers,
  decidedTier,
  factMembers,
  type ChargeItem,
  chargeItemMembers,
  type TierSource,
  tierSources,
} from './charge.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import * as schemas from './shapes/schemas.ts'
import { computed, shownOf, viewOf } from './shapes/view.ts'
import { shortPlace } from './short-place.ts'
import { formatMoney } from '../util/units.ts'

/** The labels of `docs/rules.md#billing-labels`, for the console. */
export const sourceLabels: { readonly [source in TierSource]: string } = {
  told: '应答所述',
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

type Explained = {
  readonly charge: Charge
  readonly account: Account
  /** Whether the items were charged one by one, as images are. */
  readonly byItem: boolean
}
type ExplainedLine = { readonly line: ChargeItem; readonly explanation: ReturnType<Account['line']> }

const own = shownOf({ ...factMembers, ...courseMembers }, ({ charge }: Pick<Explained, 'charge'>) => charge)
const ownOfLine = shownOf(chargeItemMembers, ({ line }: ExplainedLine) => line)

const lineView = viewOf<ExplainedLine>()({
  index: ownOfLine('index'),
  tier: ownOfLine('tier'),
  source: ownOfLine('source'),
  width: ownOfLine('width'),
  height: ownOfLine('height'),
  size: computed(
    {
      ...schemas.textOrNull,
      description:
        'Size as <width>x<height>: decoded from the returned image, or reported in the response. Null if unknown.',
    },
    ({ line }: ExplainedLine) => actualSize(line),
  ),
  quantity: ownOfLine('quantity'),
  price: ownOfLine('price'),
  flags: ownOfLine('flags'),
  why: computed(
    { ...schemas.text, description: 'Explanation of the price in words.' },
    ({ explanation }: ExplainedLine) => explanation.why,
  ),
  at: computed(
    { ...schemas.textOrNull, description: 'file:line of the price. Null for an amount that a person set.' },
    ({ explanation }: ExplainedLine) => (explanation.at === null ? null : shortPlace(explanation.at)),
  ),
})

/** The prices that applied: the price rows at that time, and in words how one of them was chosen. */
const ruleSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['kind', 'text', 'rows', 'multiplier'],
  properties: {
    kind: {
      ...schemas.text,
      description:
        'Kind of the pricing rule: tiers (image tiers), usage (tokens and other units), or the kind of another plugin.',
    },
    text: schemas.text,
    rows: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tier', 'long_edge_max', 'price', 'per', 'at'],
        properties: {
          tier: schemas.text,
          long_edge_max: schemas.wholeOrNull,
          pixels_max: schemas.whole,
          price: schemas.text,
          per: schemas.whole,
          at: schemas.text,
        },
      },
    },
    multiplier: schemas.text,
    by: schemas.texts,
  },
} as const

const source = { type: ['string', 'null'], enum: [...tierSources, null] } as const

/** The billing part of a log record. Programs read it: its members are not renamed. */
export const billView = viewOf<Explained>()({
  state: own('state'),
  size: own('size', '大小: requested size, as the client sent it. Null if absent.'),
  quality: own('quality', '请求品质: requested quality, as the client sent it. Null if absent.'),
  count: computed(
    { ...schemas.wholeOrNull, description: '生成数量: number of returned images. Null for charges by usage.' },
    ({ account }: Explained) => account.count,
  ),
  tier: computed(
    {
      ...schemas.textOrNull,
      description:
        '图片档位: tier of the images. Null if the images differ; `lines` has the tier of each. Null for charges by usage.',
    },
    ({ charge, byItem }: Explained) => (byItem ? same(itemsOf(charge).map(line => line.tier)) : null),
  ),
  source: computed(
    {
      ...source,
      description:
        '来源: source of the tier. told: size reported in the response. output: pixels of the image. request: requested size. default: none of these. Null if the images differ.',
    },
    ({ charge, byItem }: Explained) => (byItem ? same(itemsOf(charge).map(line => line.source)) : null),
  ),
  actual_size: computed(
    {
      ...schemas.textOrNull,
      description:
        '实际尺寸: size of the images as <width>x<height>, decoded from the returned images or reported in the response. Null if the images differ or their size is unknown.',
    },
    ({ charge }: Explained) => same(itemsOf(charge).map(line => actualSize(line))),
  ),
  currency: own('currency'),
  amount: own('amount'),
  held: computed(
    {
      ...schemas.text,
      description: 'Amount that is held for the charge now, as a decimal. 0 once the charge has ended.',
    },
    ({ charge }: Explained) => formatMoney(charge.held),
  ),
  refunded: own('refunded'),
  flags: computed(schemas.texts, ({ charge }: Explained): readonly string[] => [
    ...new Set([...charge.lines.flatMap(line => line.flags), ...(isIncomplete(charge) ? [omittedFlag] : [])]),
  ]),
  warnings: computed(schemas.texts, ({ charge }: Explained) => charge.rule.warnings),
  reason: own('reason'),
  delivery: own('delivery'),
  vendor_cost: own('vendorCost', 'Cost that the upstream reported, as a decimal. Null if it reported none.'),
  facts: computed(
    {
      type: 'object',
      additionalProperties: schemas.text,
      description:
        'Properties that prices can depend on, such as service_tier, speed and region: from the response, or else from the request. Properties that differ between images are absent.',
    } as const,
    ({ charge }: Explained) => factsOf(charge),
  ),
  lines: computed({ type: 'array', items: lineView.schema }, ({ charge, account }: Explained) =>
    charge.lines.map(line => lineView.show({ line, explanation: explainLine(line, charge, account) })),
  ),
  text: computed(
    { ...schemas.text, description: 'The charge in one line, with the labels of the log.' },
    ({ account }: Explained) => account.text,
  ),
  sum: computed(
    { ...schemas.text, description: 'Calculation of the amount, such as 2 × 0.04 = 0.08 USD.' },
    ({ charge }: Explained) => sumText(charge),
  ),
  rule: computed(ruleSchema, ({ charge, account }: Explained) => ({
    kind: charge.rule.kind,
    ...account.rule,
    rows: account.rule.rows.map(row => ({ ...row, at: shortPlace(row.at) })),
  })),
})

export type BillingRecord = ReturnType<typeof billView.show>

/**
 * The only explanation of a charge. The log record, the details view, `GET /v1/charges/{id}` and the command line all
 * print it; none computes its own. `known`: plugins that may have made the charge (`plan.plugins.known`).
 */
export function billingRecord(charge: Charge, known: readonly KnownPlugin[]): BillingRecord {
  const account = chargerOf(known, charge)?.record?.(charge) ?? plainAccount(charge)
  return billView.show({ charge, account, byItem: account.count !== null })
}

/** The counts of a charge in one table cell, such as `input=10 cached_input=2`; empty for none. */
export function countsCell({ lines }: Pick<BillingRecord, 'lines'>): string {
  return lines.flatMap(({ tier, quantity }) => (quantity === null ? [] : `${tier}=${quantity}`)).join(' ')
}

function factsOf({ lines }: Charge): { readonly [name: string]: string } {
  const all = lines.flatMap(({ told }) => (told?.facts ? [told.facts] : []))
  const [first = {}] = all
  return Object.fromEntries(Object.entries(first).filter(([name, value]) => all.every(facts => facts[name] === value)))
}

const omittedFlag = 'parts_omitted'

/** Whether an unknown part was removed from the delivered response. */
function isIncomplete({ state, reason }: Charge): boolean {
  return state === 'settled' && reason?.startsWith(`${omittedFlag}:`) === true
}

/** The reason for a line's price, in words, and `file:line` of the price that was applied. */
function explainLine(line: ChargeItem, { reason }: Charge, account: Account): ReturnType<Account['line']> {
  if (line.tier !== decidedTier) return account.line(line)
  return { why: `decided by a person: ${reason ?? 'no reason given'}`, at: null }
}

/** The default explanation of a charge, for plugins that are gone or do not explain it. */
function plainAccount({ lines, rule }: Charge): Account {
  const nameOf = ({ tier, quantity }: ChargeItem): string => (quantity === null ? tier : `${tier} ${quantity}`)
  return {
    text: lines.length === 0 ? '-' : lines.map(nameOf).join(', '),
    count: null,
    rule: { text: `by a rule '${rule.kind}' that no plugin here explains`, rows: [], multiplier: '' },
    line: line => ({ why: nameOf(line), at: null }),
  }
}

/** The size of a line's item, read from its bytes or reported by the response: `<width>x<height>`. */
export function actualSize(line: ChargeItem): string | null {
  if (line.width !== null && line.height !== null) return `${line.width}x${line.height}`
  const reported = line.told?.size
  return reported ? `${reported.width}x${reported.height}` : null
}

/** The items that were charged one by one: all lines, if nothing was counted. */
function itemsOf({ lines }: Charge): readonly ChargeItem[] {
  return lines.some(({ quantity }) => quantity === null) ? lines.filter(({ quantity }) => quantity === null) : lines
}

/** The value that all have in common, else null. */
function same<T>(values: readonly T[]): T | null {
  const [first] = values
  return first !== undefined && values.every(value => value === first) ? first : null
}

function sumText({ lines, currency, ...charge }: Charge): string {
  const amount = formatMoney(charge.amount)
  const counts = new Map<string, number>()
  for (const line of lines) {
    const price = formatMoney(line.price)
    counts.set(price, (counts.get(price) ?? 0) + 1)
  }
  const parts = [...counts].map(([price, count]) => (count === 1 ? price : `${count} × ${price}`))
  return parts.length === 0 ? `${amount} ${currency}` : `${parts.join(' + ')} = ${amount} ${currency}`
}
