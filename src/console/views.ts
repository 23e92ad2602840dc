/** A named filter: an address that can be sent to others. */
export type View = {
  readonly name: string
  /** `?a=1&b=2`, as `queryText` writes it. */
  readonly query: string
}

/** In the gateway's format (`POST /api/account/views`). */
export const viewsMax = 30
export const nameMax = 40
const queryMax = 2000

/** Views that a browser stored before the gateway did; any other value there is invalid. */
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
 * Views that the browser has and the gateway lacks: one whose name is taken gets a number. At most as many as
 * there is room for.
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
