import { ask, type QueryProgram, type Row, type Rows, type Value } from './query.ts'

/** Values of one statement. */
const together = 16
const inOne = '(?)'
const inMany = `(${Array(together).fill('?').join(', ')})`
const list = '(…)'

/** Rows of a query that asks for any of many values: `… WHERE id IN (…)`, which a few statements ask for in turn. */
export function* askIn(sql: string, values: readonly Value[]): QueryProgram<Rows> {
  const [one, many] = [sql.replace(list, inOne), sql.replace(list, inMany)]
  const found: Row[] = []
  for (let at = 0; at < values.length; ) {
    const isMany = values.length - at >= together
    const next = at + (isMany ? together : 1)
    for (const row of yield ask(isMany ? many : one, ...values.slice(at, next))) found.push(row)
    at = next
  }
  return found
}
