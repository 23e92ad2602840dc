/** `?a=1&b=2` with all values that are set; empty if there are none. */
export function queryText(values: { readonly [name: string]: string | number | undefined | null }): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
