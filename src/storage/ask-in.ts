import { ask, type QueryProgram, type Row, type Rows, type Value } from './query.ts'

/** Values of one statement: few forms, each of which is prepared once. */
const sizes = [128, 16, 1] as const
const placesOf = new Map(sizes.map(size => [size, `(${Array(size).fill('?').join(', ')})`]))

/**
 * Rows of a query that asks for any of many values: `… WHERE id IN (…)`, which a few statements ask for in turn.
 * `first`: of parameters that stand before these.
 */
export function* askIn(sql: string, values: readonly Value[], first: readonly Value[] = []): QueryProgram<Rows> {
  const found: Row[] = []
  for (let at = 0; at < values.length; ) {
    const size = sizes.find(one => one <= values.length - at) ?? 1
    const places = placesOf.get(size) ?? '(?)'
    for (const row of yield ask(sql.replace('(…)', places), ...first, ...values.slice(at, at + size))) found.push(row)
    at += size
  }
  return found
}
