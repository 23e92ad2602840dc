import { beginningOf, rangeNamed } from './log-range.ts'

type Query = { readonly [name: string]: string | undefined }

/** Filters of the log, as the API and the address name them. */
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

/** The filter in the address as the API takes it: a named range becomes its first moment. */
export function readFilter(query: Query): { readonly [name: string]: string } {
  const range = rangeNamed(query['range'])
  return { ...(range && { since: beginningOf(range) }), ...pick(query, filterNames) }
}

/** What a saved view keeps: `range` stays `today` on another day, and the chosen columns belong to it. */
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
