import type { CostsAnswer } from '../../api/shapes.ts'
import { microsOf } from '../../money.ts'

/** The costs of one part after refunds. Null for the combined cheapest parts. */
export type Part = {
  readonly what: string | null
  readonly net: bigint
  readonly before: bigint
  readonly charges: number
  readonly images: number
  /** The quantity of one unit; 0 if nothing was counted, or there are several units. */
  readonly quantity: number
  readonly tokens: number
  /** The costs in each bar, by its index. */
  readonly bars: readonly bigint[]
}

/** Costs in one currency, because two currencies cannot be added. */
export type CurrencyCosts = {
  readonly currency: string
  readonly net: bigint
  readonly before: bigint
  readonly refunded: bigint
  /** Savings by hits of the answer cache. */
  readonly saved: bigint
  readonly charges: number
  readonly images: number
  readonly tokens: number
  /** The most expensive first, the rest last. */
  readonly parts: readonly Part[]
}

const unused = { net: 0n, charges: 0, images: 0, quantity: 0, tokens: 0 }

/** A sheet for each currency, the one with most charges first. */
export function costsByCurrency({ rows, totals, before, bars }: CostsAnswer): readonly CurrencyCosts[] {
  const sheets = totals.map(({ currency, net, refunded, saved, charges, images, tokens }) => {
    const own = rows.filter(row => row.currency === currency)
    const earlier = new Map(
      before.rows.flatMap(row => (row.currency === currency ? [[row.what, microsOf(row.net)] as const] : [])),
    )
    const parts = [...Map.groupBy(own, ({ what }) => what)].map(([what, some]) => {
      const sums = bars.map(() => 0n)
      for (const row of some) sums[row.bar] = (sums[row.bar] ?? 0n) + microsOf(row.net)
      return {
        what,
        net: sums.reduce((sum, one) => sum + one, 0n),
        before: earlier.get(what) ?? 0n,
        charges: some.reduce((sum, row) => sum + row.charges, 0),
        images: some.reduce((sum, row) => sum + row.images, 0),
        quantity: some.reduce((sum, row) => sum + (row.quantity ?? 0), 0),
        tokens: some.reduce((sum, row) => sum + row.tokens, 0),
        bars: sums,
      }
    })
    // A part that was only used earlier has no row, but the column must add up, so it gets one.
    const used = new Set(parts.map(({ what }) => what))
    for (const [what, sum] of earlier)
      if (!used.has(what)) parts.push({ ...unused, what, before: sum, bars: bars.map(() => 0n) })
    const all = before.totals.find(one => one.currency === currency)
    return {
      currency,
      net: microsOf(net),
      before: microsOf(all?.net ?? '0'),
      refunded: microsOf(refunded),
      saved: microsOf(saved),
      charges,
      images,
      tokens,
      parts: parts.sort(byCost),
    }
  })
  return sheets.sort((a, b) => b.charges - a.charges)
}

function byCost(a: Part, b: Part): number {
  if ((a.what === null) !== (b.what === null)) return a.what === null ? 1 : -1
  if (a.net !== b.net) return a.net > b.net ? -1 : 1
  if (a.before !== b.before) return a.before > b.before ? -1 : 1
  return (a.what ?? '') < (b.what ?? '') ? -1 : 1
}
