/**
 * The first moment in UTC of a day such as `2026-11-21`; undefined if there is no such day. `Date` would read 31 February
 * as 3 March.
 */
export function readDate(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) ? at : undefined
}
