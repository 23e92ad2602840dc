import type { PriceConditions, TableRow } from '../../domain/index.ts'
import { writeMap, writeScalar } from './yaml-words.ts'

/** Prices by their labels, on one line. */
export function writePrices(prices: Iterable<readonly [label: string, price: string]>): string {
  return writeMap([...prices].map(([label, price]) => [label, JSON.stringify(price)] as const))
}

/** The keys `overrides` and `times` of a model, for `writeMap`; undefined if it has none. */
export function conditionKeys({
  overrides,
  times,
}: Pick<TableRow, 'overrides' | 'times'>): readonly (readonly [string, string | undefined])[] {
  const replaced = overrides?.map(({ if: conditions, prices }) =>
    writeMap([
      ['if', writeConditions(conditions)],
      ...Object.entries(prices).map(([label, price]) => [label, JSON.stringify(price)] as const),
    ]),
  )
  const factors = times?.map(({ if: conditions, by }) =>
    writeMap([
      ['if', writeConditions(conditions)],
      ['by', JSON.stringify(by)],
    ]),
  )
  return [
    ['overrides', replaced && `[${replaced.join(', ')}]`],
    ['times', factors && `[${factors.join(', ')}]`],
  ]
}

function writeConditions(conditions: PriceConditions): string {
  return writeMap(Object.entries(conditions).map(([name, value]) => [name, writeValue(value)] as const))
}

function writeValue(value: number | string | readonly string[]): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? writeScalar(value) : `[${value.map(writeScalar).join(', ')}]`
}
