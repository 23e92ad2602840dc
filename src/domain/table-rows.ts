import { parseMoney } from '../util/units.ts'
import type { PriceConditions } from './usage.ts'

/** The prices of one model in a price table. */
export type TableRow = {
  /** The table's name for it: `alpha-1`, `vendor/alpha-1`. */
  readonly id: string
  /** By label as in `models.NAME.prices`, as decimals; empty for free models. */
  readonly prices: { readonly [label: string]: string }
  /** Prices that replace others: the first entry whose conditions hold applies. */
  readonly overrides?: readonly RowOverride[]
  /** Factors of token prices, as decimals; each applies if its conditions hold. */
  readonly times?: readonly { readonly if: PriceConditions; readonly by: string }[]
  readonly free?: true
  /** The table's name for its purpose: `chat`, `embedding`; absent if unknown. */
  readonly mode?: string
  readonly provider?: string
  /** Chargeable things without a price here: fields of the source, with the reason. */
  readonly unmapped?: readonly string[]
  /** The day from which it is no longer served. */
  readonly ends?: string
}

export type RowOverride = { readonly if: PriceConditions; readonly prices: { readonly [label: string]: string } }

export type FoundRow<Row extends TableRow = TableRow> =
  | {
      readonly kind: 'found'
      readonly row: Row
      /**
       * The match. `provider`: with the provider's name; `id`: as requested; `bare`: without its prefix; `last`: of
       * another provider.
       */
      readonly by: 'provider' | 'id' | 'bare' | 'last'
      /** Rows of the same model with other prices. */
      readonly differing: readonly string[]
    }
  /** Only rows of other providers exist, and their prices differ. */
  | { readonly kind: 'several'; readonly ids: readonly string[] }
  | { readonly kind: 'none' }

/** The rows of price tables, indexed by common names of models. */
export class TableRows<Row extends TableRow = TableRow> {
  readonly #byId = new Map<string, Row>()
  readonly #byLast = new Map<string, Row[]>()

  /** Uses the first of several rows with the same id. */
  constructor(rows: Iterable<Row>) {
    for (const row of rows) {
      if (this.#byId.has(row.id)) continue
      this.#byId.set(row.id, row)
      const last = lastPart(row.id)
      const others = this.#byLast.get(last)
      if (others) others.push(row)
      else this.#byLast.set(last, [row])
    }
  }

  get ids(): Iterable<string> {
    return this.#byId.keys()
  }

  get(id: string): Row | undefined {
    return this.#byId.get(id)
  }

  /**
   * Finds the row of a model: `PROVIDER/id`, `id`, then the id without its first parts (`cloud/eu/alpha-1` →
   * `alpha-1`). With `others`, rows of other providers with the same last part count too, if all their prices are
   * equal.
   */
  find(
    id: string,
    { provider, others = false }: { readonly provider?: string; readonly others?: boolean } = {},
  ): FoundRow<Row> {
    const own = provider === undefined ? undefined : this.#byId.get(`${provider}/${id}`)
    if (own) return this.#found(own, 'provider')
    const exact = this.#byId.get(id)
    if (exact) return this.#found(exact, 'id')
    for (let at = id.indexOf('/'); at !== -1; at = id.indexOf('/', at + 1)) {
      const bare = this.#byId.get(id.slice(at + 1))
      if (bare) return this.#found(bare, 'bare')
    }
    const [first, ...more] = others ? (this.#byLast.get(lastPart(id)) ?? []) : []
    if (!first) return { kind: 'none' }
    if (more.every(row => costsTheSame(row, first))) return { kind: 'found', row: first, by: 'last', differing: [] }
    return { kind: 'several', ids: [first, ...more].map(row => row.id) }
  }

  #found(row: Row, by: 'provider' | 'id' | 'bare'): FoundRow<Row> {
    const differing = (this.#byLast.get(lastPart(row.id)) ?? []).filter(other => !costsTheSame(other, row))
    return { kind: 'found', row, by, differing: differing.map(other => other.id) }
  }
}

function lastPart(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

export function costsTheSame(one: TableRow, other: TableRow): boolean {
  return costOf(one) === costOf(other)
}

function costOf({ prices, free, overrides = [], times = [] }: TableRow): string {
  const conditional = overrides.map(one => [sorted({ ...one.if }), amountsOf(one.prices)])
  return JSON.stringify([
    free === true,
    amountsOf(prices),
    conditional,
    times.map(one => [sorted({ ...one.if }), one.by]),
  ])
}

/** Parses prices for comparison: equal prices may have different numbers of zeros. */
function amountsOf(prices: TableRow['prices']): readonly unknown[] {
  return sorted(prices).map(([label, price]) => [label, parseMoney(price) ?? price])
}

function sorted<Value>(members: { readonly [name: string]: Value }): readonly (readonly [string, Value])[] {
  return Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))
}
