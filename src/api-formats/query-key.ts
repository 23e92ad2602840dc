/** Every key in a query, as clients of the generative-language style without an SDK send it: `?key=…`. */
export function queryKeys(query: string, name = 'key'): readonly string[] {
  if (query === '') return []
  // The parser would drop a `?` at the very beginning; here it is part of a name, which then differs.
  return new URLSearchParams(`&${query}`).getAll(name).filter(key => key !== '')
}
