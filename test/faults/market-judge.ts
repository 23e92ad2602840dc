import type { Life } from './load.ts'
import { type Levels, type Sale, type SoldLine } from './market-books.ts'
import {
  jobTiers,
  type MarketOrder,
  multipliers,
  pictureTiers,
  priceOf,
  prices,
  sizeOf,
  tokensOf,
  wasKilled,
} from './market-orders.ts'

/** What callers received, what the vendor sold, and what was charged. */
export type MarketSums = {
  readonly requests: number
  /** Answers, by status and code; `cut` for incomplete ones. */
  readonly answers: { readonly [answer: string]: number }
  /** Number of requests for which the vendor sold something. */
  readonly sold: number
  /** Number of booked charges, and their sum in micro-units. */
  readonly charged: number
  readonly micros: number
  /** Received by a caller but not booked, without a kill; for pictures also with a kill. */
  readonly givenAway: number
  /**
   * Texts whose gateway was killed before they were booked, which is allowed for texts alone; and the maximum at one
   * kill.
   */
  readonly lostTexts: number
  readonly lostTextsMost: number
  /** Booked twice, or requested twice. */
  readonly double: number
  /** Booked, but never sold. */
  readonly phantom: number
  /** Pictures that are booked but did not arrive: their callers disconnected, or their gateways were killed. */
  readonly undelivered: number
  /** Charges under review, such as those of a killed gateway. */
  readonly forReview: number
  readonly violations: readonly string[]
}

/** Text charges that a crash may lose in addition to those in flight: one batch (README, what the bill promises). */
const batchMost = 2_048

export function judgeMarket(orders: readonly MarketOrder[], sales: readonly Sale[], parallel: number): MarketSums {
  const judge = new Judge(sales, parallel)
  for (const order of orders) if (order.kind !== 'chat') judge.pictures(order)
  judge.texts(orders.filter(({ kind }) => kind === 'chat'))
  const { violations, lost, givenAway, double, phantom, undelivered } = judge
  for (const [life, some] of lost)
    if (some > parallel + batchMost) violations.push(`kill ${life.number}: ${some} texts were lost`)
  const answers: { [answer: string]: number } = {}
  for (const { answer = 'cut', leaves } of orders) {
    const name = answer === 'cut' && leaves ? 'left' : answer.trim()
    answers[name] = (answers[name] ?? 0) + 1
  }
  const booked = sales.filter(({ state }) => state === 'settled')
  return {
    requests: orders.length,
    answers,
    sold: orders.filter(({ made, used }) => made.size > 0 || used !== undefined).length,
    charged: booked.length,
    micros: booked.reduce((sum, { amount }) => sum + amount, 0),
    givenAway,
    lostTexts: [...lost.values()].reduce((sum, one) => sum + one, 0),
    lostTextsMost: Math.max(0, ...lost.values()),
    double,
    phantom,
    undelivered,
    forReview: sales.filter(({ state }) => state === 'needs_review').length,
    violations,
  }
}

class Judge {
  readonly violations: string[] = []
  readonly lost = new Map<Life, number>()
  givenAway = 0
  double = 0
  phantom = 0
  undelivered = 0
  readonly #pictures = new Map<string, Sale[]>()
  readonly #texts = new Map<string, Sale>()

  /** The maximum number of concurrent requests. */
  readonly #parallel: number

  constructor(sales: readonly Sale[], parallel: number) {
    this.#parallel = parallel
    const ids = new Set<string>()
    for (const sale of sales) {
      if (ids.has(sale.id)) this.#fault('double', `charge ${sale.id} stands twice`)
      ids.add(sale.id)
      if (sale.quality === null) this.#texts.set(sale.id, sale)
      else this.#pictures.set(sale.quality, [...(this.#pictures.get(sale.quality) ?? []), sale])
      const sum = sale.lines.reduce((all, { price }) => all + price, 0)
      if (sale.state === 'settled' && sum !== sale.amount)
        this.violations.push(`charge ${sale.id} is ${sale.amount}, its lines ${sum}`)
    }
  }

  pictures(order: MarketOrder): void {
    const { number, kind, made, had, payer } = order
    const where = `request ${number} (${kind}, ${order.fate}, ${order.answer ?? 'cut'})`
    const own = this.#pictures.get(String(number)) ?? []
    // A repetition after a kill is another charge, unless the first one bought something.
    const lines = own.flatMap(sale => sale.lines)
    if (own.some(sale => sale.key !== payer.keyId || sale.user !== payer.user || sale.group !== payer.group))
      this.violations.push(`${where}: charged to somebody else`)
    // A line does not name its link; the booked ones are those that were made first.
    const marks = kind === 'links' ? [...made].slice(0, lines.length) : lines.map(({ mark }) => mark ?? 'unread')
    const once = new Set(marks)
    const away = [...had].filter(mark => !once.has(mark)).length
    const twice = marks.length - once.size
    const unmade =
      kind === 'links' ? Math.max(0, lines.length - made.size) : [...once].filter(mark => !made.has(mark)).length
    if (away > 0) this.#fault('givenAway', `${where}: ${away} pictures are not booked`, away)
    if (twice > 0) this.#fault('double', `${where}: ${twice} pictures are booked twice`, twice)
    if (unmade > 0) this.#fault('phantom', `${where}: ${unmade} pictures are booked that were not made`, unmade)
    if (order.asked > 1 && order.isIdempotent && made.size > order.images)
      this.#fault('double', `${where}: was asked for ${order.asked} times`)
    const missing = [...made].filter(mark => !once.has(mark)).length
    if (missing > 0 && !wasKilled(order))
      this.#fault('givenAway', `${where}: ${missing} of ${made.size} that were made are not booked`, missing)
    if (had.size < once.size && kind !== 'job') {
      this.undelivered += once.size - had.size
      if (order.isWhole && !wasKilled(order)) this.violations.push(`${where}: booked pictures did not arrive`)
    }
    for (const line of lines) this.#priced(where, line, this.#priceOf(order, line))
  }

  #priceOf(order: MarketOrder, { mark }: SoldLine): number {
    if (order.kind === 'links') return priceOf(pictureTiers, sizeOf(order))
    return mark === null ? Number.NaN : priceOf(order.kind === 'job' ? jobTiers : pictureTiers, mark)
  }

  texts(orders: readonly MarketOrder[]): void {
    const left = new Map(this.#texts)
    const unknown: MarketOrder[] = []
    const booked: MarketOrder[] = []
    const lost: MarketOrder[] = []
    for (const order of orders) {
      const [id = ''] = order.ids
      const sale = left.get(id)
      left.delete(id)
      if (id === '') unknown.push(order)
      if (sale?.state === 'settled') {
        booked.push(order)
        this.#text(order, sale)
      } else if (order.isWhole && order.used && !wasKilled(order))
        this.#fault('givenAway', `request ${order.number}: a whole text is not booked`)
      else if (order.isWhole && order.used) lost.push(order)
    }
    for (const order of lost) this.#lose(order, booked)
    // Charges whose id no caller knows: from the vendor's sales, or cut by a caller who disconnected.
    for (const sale of left.values()) {
      if (sale.state !== 'settled') continue
      const at = unknown.findIndex(order => order.payer.keyId === sale.key && mayBe(order, sale))
      if (at === -1) {
        this.#fault('phantom', `charge ${sale.id} is of nothing that was sold`)
        continue
      }
      const [order] = unknown.splice(at, 1)
      if (order) this.#text(order, sale)
    }
  }

  #text(order: MarketOrder, sale: Sale): void {
    const where = `request ${order.number} (chat, ${order.fate}, ${order.answer ?? 'cut'}, charge ${sale.id})`
    const { payer, used } = order
    if (sale.key !== payer.keyId || sale.user !== payer.user || sale.group !== payer.group)
      this.violations.push(`${where}: charged to somebody else`)
    for (const line of sale.lines) {
      const unit = line.tier as keyof typeof prices
      this.#priced(where, line, roundHalfUp((line.quantity ?? 0) * prices[unit] * (multipliers[payer.group] ?? 1)))
      if (line.isEstimated) {
        if (!order.leaves && !wasKilled(order)) this.violations.push(`${where}: estimated although it was reported`)
        continue
      }
      if (line.quantity !== used?.[unit])
        this.#fault('phantom', `${where}: ${line.quantity} ${unit}, not what was sold`)
    }
  }

  /** Charges are written in the order of their answers: a kill loses the last ones. */
  #lose(order: MarketOrder, booked: readonly MarketOrder[]): void {
    const life = order.lives.at(-1) as Life
    this.lost.set(life, (this.lost.get(life) ?? 0) + 1)
    const later = booked.filter(one => one.lives.at(-1) === life && one.endedAt > order.endedAt).length
    if (later > this.#parallel)
      this.#fault('givenAway', `request ${order.number}: not booked, and ${later} that came later are`)
  }

  #priced(where: string, { tier, price }: SoldLine, expected: number): void {
    if (price !== expected) this.violations.push(`${where}: ${tier} costs ${price}, not ${expected}`)
  }

  #fault(count: 'givenAway' | 'double' | 'phantom', sentence: string, times = 1): void {
    this[count] += times
    this.violations.push(sentence)
  }
}

function mayBe(order: MarketOrder, { lines }: Sale): boolean {
  if (lines.some(({ isEstimated }) => isEstimated)) return order.leaves || wasKilled(order)
  const tokens = tokensOf(order)
  return lines.every(({ tier, quantity }) => quantity === tokens[tier as keyof typeof tokens])
}

function roundHalfUp(number: number): number {
  return Math.floor(number + 0.5)
}

/** Accounts whose sums differ from their charges, or that still hold something; nothing is running any more. */
export function judgeRest({ keys, accounts }: Levels, sales: readonly Sale[]): readonly string[] {
  const faults: string[] = []
  const sumOf = (own: readonly Sale[]): number => own.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0)
  const booked = sales.filter(({ state }) => state === 'settled')
  const compare = (whose: string, spent: number, own: readonly Sale[]): void => {
    if (spent !== sumOf(own)) faults.push(`${whose} has spent ${spent}, its charges come to ${sumOf(own)}`)
  }
  const byKey = Map.groupBy(booked, ({ key }) => key)
  for (const { id, spent } of keys) compare(`key ${id}`, spent, byKey.get(id) ?? [])
  for (const [account, { spent, held }] of accounts) {
    const [kind = '', name = ''] = account.split(' ')
    const isOf = (sale: Sale): boolean =>
      kind === 'group'
        ? sale.group === name
        : sale.user === name && (kind === 'user' || sale.levels.includes('balance'))
    compare(account, spent, booked.filter(isOf))
    if (held !== 0) faults.push(`${account} still holds ${held}`)
  }
  for (const { id, held } of keys) if (held !== 0) faults.push(`key ${id} still holds ${held}`)
  for (const { id, state } of sales) if (state === 'reserved') faults.push(`charge ${id} is still open`)
  return faults
}
