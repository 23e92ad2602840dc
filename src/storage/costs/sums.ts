import type { CostPart } from '../../kit/costs.ts'

/** Under what charges are added up, as columns of `cost_sum`. */
export type Place = {
  readonly quarter: number
  readonly key_id: string
  readonly user_name: string
  readonly group_name: string
  readonly model: string
  readonly operation: string
  readonly upstream: string
  readonly tier: string
  readonly currency: string
}

/** Columns of a place that are facts of the charge: all but when, and what of it. */
export const placeColumns = [
  'key_id',
  'user_name',
  'group_name',
  'model',
  'operation',
  'upstream',
  'currency',
] as const satisfies readonly (keyof Place)[]

/** All that a place is, by which sums are told apart. */
export const sumColumns = ['quarter', ...placeColumns, 'tier'] as const satisfies readonly (keyof Place)[]

export const columnOf = {
  user: 'user_name',
  group: 'group_name',
  key: 'key_id',
  model: 'model',
  operation: 'operation',
  upstream: 'upstream',
  tier: 'tier',
} as const satisfies { readonly [P in CostPart]: keyof Place }

export const countNames = ['charges', 'firsts', 'images', 'amount', 'refunded'] as const
export type Counts = { readonly [N in (typeof countNames)[number]]: number }
type Sum = { readonly place: Place; readonly counts: { -readonly [N in keyof Counts]: number } }

/** Counts by where they belong. */
export class CostSums {
  readonly #sums = new Map<string, Sum>()

  add(place: Place, counts: Counts): void {
    const name = JSON.stringify(sumColumns.map(column => place[column]))
    const sum = this.#sums.get(name)
    if (!sum) return void this.#sums.set(name, { place, counts: { ...counts } })
    for (const count of countNames) sum.counts[count] += counts[count]
  }

  /** In an order that is everybody's: two writers who add to the same rows wait for each other, and never both. */
  inOrder(): readonly Sum[] {
    return [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
  }
}
