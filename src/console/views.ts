/** A named filter. It is an address, so that a user can send it to others. */
export type View = {
  readonly name: string
  /** `?a=1&b=2` in the format of `queryText`. */
  readonly query: string
}

/** The limits of the gateway (`POST /api/account/views`). */
export const viewsMax = 30
export const nameMax = 40
const queryMax = 2000

/** Views that a browser stored in earlier versions; any other stored value is invalid. */
export function readViews(kept: string | undefined): readonly View[] {
  let stored: unknown
  try {
    stored = JSON.parse(kept ?? '[]')
  } catch {
    return []
  }
  return Array.isArray(stored) ? stored.filter(isView).slice(0, viewsMax) : []
}

function isView(value: unknown): value is View {
  const { name, query } = (value ?? {}) as { readonly [field in keyof View]?: unknown }
  if (typeof name !== 'string' || typeof query !== 'string') return false
  return (
    name.length <= nameMax && /^[^\p{Cc}\p{Cf}]+$/u.test(name) && /^\?[^#\s]+$/.test(query) && query.length <= queryMax
  )
}

/**
 * Views that exist in the browser but not in the gateway. A duplicate name gets a number. Limited to the number of
 * views that the gateway still accepts.
 */
export function missingViews(kept: readonly View[], known: readonly View[]): readonly View[] {
  const all = [...known]
  for (const { name, query } of kept) {
    if (all.some(view => view.query === query)) continue
    let own = name
    for (let n = 2; all.some(view => view.name === own); n++) own = `${name.slice(0, nameMax - 4)} ${n}`
    if (all.length < viewsMax) all.push({ name: own, query })
  }
  return all.slice(known.length)
}
