/** Every key in a query, as generative-language callers without an SDK send it: `?key=…`. */
export function queryKeys(query: string, name = 'key'): readonly string[] {
  if (query === '') return []
  // A `?` at the very beginning would be dropped; here it is part of a name, which is then another name.
  return new URLSearchParams(`&${query}`).getAll(name).filter(key => key !== '')
}
