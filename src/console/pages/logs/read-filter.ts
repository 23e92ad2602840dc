import { beginningOf, rangeNamed } from './log-range.ts'

type Query = { readonly [name: string]: string | undefined }

/** The filters of the log, by their names in the API and the address. */
export const filterNames = [
  'since',
  'until',
  'result',
  'status',
  'model',
  'user',
  'key',
  'tier',
  'source',
  'unit',
  'other_size',
  'size',
  'id',
  'group',
  'operation',
  'upstream',
  'end_user',
  'tag',
  'outcome',
  'cache',
  'charge',
  'refunded',
] as const
export type FilterName = (typeof filterNames)[number]

/** The filter from the address for the API: a named range becomes its first moment. */
export function readFilter(query: Query): { readonly [name: string]: string } {
  const range = rangeNamed(query['range'])
  return { ...(range && { since: beginningOf(range) }), ...pick(query, filterNames) }
}

/** The parameters that a saved view keeps: `range` stays `today` on another day, and the columns are included. */
export function viewOf(query: Query): { readonly [name: string]: string } {
  return pick(query, ['range', ...filterNames, 'cols'])
}

/** A change that removes all filters. */
export const noFilters: { readonly [name: string]: null } = Object.fromEntries(
  ['range', ...filterNames].map(name => [name, null]),
)

function pick(query: Query, names: readonly string[]): { readonly [name: string]: string } {
  return Object.fromEntries(names.flatMap(name => (query[name] ? [[name, query[name]]] : [])))
}
