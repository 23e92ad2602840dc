import type { CostPart } from '../../domain/costs.ts'
import type { Row, Value } from '../query.ts'

/** The key of a sum. `quarter` is the time of settlement. */
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
  /** Ids of labels; '' without any. */
  readonly attribution: string
}

/** Columns of a place that are facts of the charge, without its time and detail. */
export const placeColumns = [
  'key_id',
  'user_name',
  'group_name',
  'model',
  'operation',
  'upstream',
  'currency',
] as const satisfies readonly (keyof Place)[]

/** A place without its time: the columns of `cost_place`. */
export const factColumns = [...placeColumns, 'tier'] as const satisfies readonly (keyof Place)[]
const sumColumns = ['quarter', ...factColumns, 'attribution'] as const

export const columnOf = {
  user: 'user_name',
  group: 'group_name',
  key: 'key_id',
  model: 'model',
  operation: 'operation',
  upstream: 'upstream',
  tier: 'tier',
} as const satisfies { readonly [P in CostPart]: keyof Place }

/**
 * `quantity` has the unit of each item, so its sum is meaningful only within one tier; `tokens` is the part that counts
 * tokens.
 */
export const countNames = ['charges', 'firsts', 'images', 'amount', 'refunded', 'quantity', 'tokens', 'saved'] as const
export type Counts = { readonly [N in (typeof countNames)[number]]: number }
export const noCounts: Counts = {
  charges: 0,
  firsts: 0,
  images: 0,
  amount: 0,
  refunded: 0,
  quantity: 0,
  tokens: 0,
  saved: 0,
}
export type Sum = { readonly place: Place; readonly counts: { -readonly [N in keyof Counts]: number } }

/** The facts that priced an image: the columns of `cost_kind`, from `charge` and `line`. */
export const kindColumns = [
  'model',
  'size',
  'currency',
  'rule',
  'tier',
  'source',
  'width',
  'height',
  'price',
  'flags',
  'told',
] as const
export type Kind = { readonly [N in (typeof kindColumns)[number]]: Value }

/** Images of a place that were priced in the same way, without refunded ones. */
export type KindSum = { readonly place: Place; readonly kind: Kind; images: number }

/** Counts by their keys. */
export class CostSums {
  readonly #sums = new Map<string, Sum>()
  readonly #kinds = new Map<string, KindSum>()

  add(place: Place, counts: Counts): void {
    const name = nameOf(place)
    const sum = this.#sums.get(name)
    if (!sum) return void this.#sums.set(name, { place, counts: { ...counts } })
    addCounts(sum.counts, counts)
  }

  addImage(place: Place, kind: Kind, images: number): void {
    const name = JSON.stringify([nameOf(place), nameOfKind(kind)])
    const sum = this.#kinds.get(name)
    if (sum) sum.images += images
    else this.#kinds.set(name, { place, kind, images })
  }

  /** The number of sums and kinds together. */
  get size(): number {
    return this.#sums.size + this.#kinds.size
  }

  all(): Iterable<Sum> {
    return this.#sums.values()
  }

  kinds(): Iterable<KindSum> {
    return this.#kinds.values()
  }
}

export function addCounts(to: { -readonly [N in keyof Counts]: number }, counts: Counts): void {
  for (const name of countNames) to[name] += counts[name]
}

/**
 * The counts for sums by a part, '' for the total. A charge has one value of each part, but one for each of its tiers.
 */
export function countsIn(part: CostPart | '', counts: Counts): Counts {
  return part === 'tier' ? counts : { ...counts, charges: counts.firsts }
}

/** Reads a kind from a row with all its columns. */
export function toKind(row: Row): Kind {
  // PostgreSQL returns 64-bit columns as text.
  const number = (column: string): number | null => (row[column] === null ? null : Number(row[column]))
  const all = Object.fromEntries(kindColumns.map(column => [column, row[column]])) as Kind
  return { ...all, width: number('width'), height: number('height'), price: number('price') }
}

export function nameOfKind(kind: Kind): string {
  return JSON.stringify(kindColumns.map(column => kind[column]))
}

function nameOf(place: Place): string {
  return JSON.stringify(sumColumns.map(column => place[column]))
}
