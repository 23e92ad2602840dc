import { useLocation } from 'preact-iso'
import { queryText } from './api/call.ts'

type Query = { readonly [name: string]: string | undefined }
type Change = { readonly [name: string]: string | null | undefined }

/** The state of a list is in the address: its filters and its position. */
export function useQuery() {
  const { query, path, route: go } = useLocation()
  const here = location.pathname + location.search
  // A request may end after the user has left its page or dialog: then the next one stays.
  const route = (to: string, isReplaced = false) => {
    if (location.pathname + location.search === here) go(to, isReplaced)
  }
  return {
    query: query as Query,
    path,
    route,
    /** Replaces the changed parameters; a newly filtered list begins at its newest row. */
    set: (change: Change) => route(path + setQuery(query, { before: null, ...change }), true),
  }
}

/** `?…` with a change; a value of null or empty removes it. */
export function setQuery(query: Query, change: Change): string {
  return queryText({ ...query, ...change })
}
