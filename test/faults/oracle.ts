import type { Order } from './load.ts'

/** What callers received, compared with what was billed. All counts are of images. */
export type Sums = {
  readonly requests: number
  readonly produced: number
  readonly delivered: number
  readonly billed: number
  /** Received by a caller, without a line. */
  readonly unbilled: number
  /** Billed twice. */
  readonly double: number
  /** Billed, but never made. */
  readonly phantom: number
  /** Billed but not received by the caller: at most those in flight when the gateway was killed. */
  readonly undelivered: number
  readonly undeliveredPerKill: number
  readonly undeliveredMost: number
  readonly inFlightMost: number
  /** Charges without a line and with an unknown result: they cost nothing. */
  readonly forReview: number
  /** One sentence for each broken promise. */
  readonly violations: readonly string[]
}

type Line = { readonly order: number; readonly index: number; readonly mark: string }

export type Books = {
  readonly lines: readonly Line[]
  readonly chargesOf: ReadonlyMap<number, number>
  readonly forReview: number
  readonly violations: readonly string[]
}

/** Runs one query on a database of either kind. */
export type Look = (sql: string) => Promise<readonly { readonly [column: string]: unknown }[]>

/** Read with SQL of the test's own, bypassing the code that wrote it. */
export async function readBooks(look: Look): Promise<Books> {
  const rows = await look('SELECT c.quality, l.idx, l.width, l.height FROM line l JOIN charge c ON c.id = l.charge_id')
  const lines = rows.map(row => ({
    order: Number(row['quality']),
    index: Number(row['idx']),
    mark: row['width'] === null ? 'link' : `${Number(row['width'])}x${Number(row['height'])}`,
  }))
  const charges = await look('SELECT quality, count(*) AS n FROM charge GROUP BY quality')
  const [review] = await look(`SELECT count(*) AS n FROM charge WHERE state = 'needs_review'`)
  return {
    lines,
    chargesOf: new Map(charges.map(row => [Number(row['quality']), Number(row['n'])])),
    forReview: Number(review?.['n']),
    violations: await readOpen(look),
  }
}

/** Charges that are still open and money that is still held, while nothing runs (promise 5). */
export async function readOpen(look: Look): Promise<readonly string[]> {
  const [open] = await look(`SELECT count(*) AS n FROM charge WHERE state = 'reserved'`)
  const [held] = await look('SELECT sum(held) AS n FROM key')
  const [reserved, micros] = [Number(open?.['n']), Number(held?.['n'])]
  return reserved + micros === 0 ? [] : [`${reserved} charges reserved, ${micros} micro-units held`]
}

export function compare(orders: readonly Order[], books: Books): Sums {
  const violations = [...books.violations]
  const linesOf = Map.groupBy(books.lines, line => line.order)
  const perKill = new Map<number, { undelivered: number; inFlight: number }>()
  const sum = { produced: 0, delivered: 0, billed: 0, unbilled: 0, double: 0, phantom: 0, undelivered: 0 }
  for (const order of orders) {
    const own = linesOf.get(order.number) ?? []
    // A line does not name its link; the billed ones are those that were made first.
    const billed = order.links ? [...order.produced].slice(0, own.length) : own.map(line => line.mark)
    const once = new Set(billed)
    const unbilled = [...order.delivered].filter(mark => !once.has(mark)).length
    const double = billed.length - once.size + Math.max(0, (books.chargesOf.get(order.number) ?? 0) - 1)
    const phantom = order.links
      ? Math.max(0, own.length - order.produced.size)
      : [...once].filter(mark => !order.produced.has(mark)).length
    const undelivered = [...once].filter(mark => !order.delivered.has(mark)).length
    sum.produced += order.produced.size
    sum.delivered += order.delivered.size
    sum.billed += own.length
    sum.unbilled += unbilled
    sum.double += double
    sum.phantom += phantom
    sum.undelivered += undelivered
    if (unbilled + double + phantom > 0)
      violations.push(`request ${order.number}: ${unbilled} unbilled, ${double} double, ${phantom} phantom`)
    if (undelivered > 0 && order.whole)
      violations.push(`request ${order.number}: answered whole, ${undelivered} billed images missing`)
    if (order.refused === 'storage_unavailable' && order.produced.size > 0)
      violations.push(`request ${order.number}: refused, and sent to the upstream all the same`)
    if (order.whole || order.refused !== undefined || order.life.killedAt === undefined) continue
    const at = perKill.get(order.life.number) ?? { undelivered: 0, inFlight: 0 }
    perKill.set(order.life.number, {
      undelivered: at.undelivered + undelivered,
      inFlight: at.inFlight + order.images,
    })
  }
  for (const [kill, { undelivered, inFlight }] of perKill)
    if (undelivered > inFlight)
      violations.push(`kill ${kill}: ${undelivered} billed and not delivered, ${inFlight} in flight`)
  const counts = [...perKill.values()]
  return {
    ...sum,
    requests: orders.length,
    undeliveredPerKill: Math.round((sum.undelivered / Math.max(1, counts.length)) * 100) / 100,
    undeliveredMost: Math.max(0, ...counts.map(one => one.undelivered)),
    inFlightMost: Math.max(0, ...counts.map(one => one.inFlight)),
    forReview: books.forReview,
    violations,
  }
}
