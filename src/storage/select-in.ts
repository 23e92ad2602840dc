import { ask, type QueryProgram, type Row, type Rows, type Value } from './query.ts'

const listsMost = 64
/** Values of one statement: few variants, each prepared once. */
const sizes = [1, 4, 16, 64, 256, 512] as const
const placesOf = new Map<number, string>(sizes.map(size => [size, `(${Array(size).fill('?').join(', ')})`]))

/**
 * Rows of a query for any of many values: `… WHERE id IN (…)`, in a few statements, one after another. Because each
 * statement is waited for, one that repeats its last value is faster than several. `first`: the parameters before the
 * values.
 */
export function* selectIn(sql: string, values: readonly Value[], first: readonly Value[] = []): QueryProgram<Rows> {
  const found: Row[] = []
  for (let at = 0; at < values.length; ) {
    const batch = batchAt(values, at)
    const places = placesOf.get(batch.length) ?? '(?)'
    for (const row of yield ask(sql.replace('(…)', places), ...first, ...batch)) found.push(row)
    at += batch.length
  }
  return found
}

/** Like `selectIn`, for rows of any of many lists of values: `… WHERE (a, b) IN (…)`. All lists have one length. */
export function* selectInLists(
  sql: string,
  lists: readonly (readonly Value[])[],
  first: readonly Value[] = [],
): QueryProgram<Rows> {
  const found: Row[] = []
  for (let at = 0; at < lists.length; ) {
    const batch = batchAt(lists, at, listsMost)
    const marks = `(${(batch[0] ?? []).map(() => '?').join(', ')})`
    const places = `(VALUES ${Array(batch.length).fill(marks).join(', ')})`
    for (const row of yield ask(sql.replace('(…)', places), ...first, ...batch.flat())) found.push(row)
    at += batch.length
  }
  return found
}

/** The values of the next statement, padded with the last one. */
function batchAt<T>(values: readonly T[], at: number, most = Number.POSITIVE_INFINITY): readonly T[] {
  const size = Math.min(sizeFor(values.length - at), most)
  const batch = values.slice(at, at + size)
  while (batch.length < size) batch.push(values.at(-1) as T)
  return batch
}

/** Values for one statement, padded with the last one; undefined if there are too many for one. */
export function inOne(values: readonly Value[]): readonly Value[] | undefined {
  const size = sizes.find(one => one >= values.length)
  return size && values.length > 0 ? [...values, ...Array(size - values.length).fill(values.at(-1))] : undefined
}

/** The size for the values left: at most twice as many. */
function sizeFor(left: number): number {
  return sizes.find(one => one >= left && one <= left * 2) ?? sizes.findLast(one => one <= left) ?? 1
}
