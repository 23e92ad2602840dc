/** Every key in a query, as generative-language callers without an SDK send it: `?key=…`. */
export function queryKeys(query: string): readonly string[] {
  return query === '' ? [] : new URLSearchParams(query).getAll('key').filter(key => key !== '')
}
