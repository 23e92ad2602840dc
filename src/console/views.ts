/** What somebody has filtered by and given a name: no more than an address, which others can be sent. */
export type View = {
  readonly name: string
  /** `?a=1&b=2`, as `queryText` writes it. */
  readonly query: string
}

export const viewsMax = 30
export const nameMax = 40
const queryMax = 2000

/** What a browser has kept; whatever else stands there is none. */
export function readViews(kept: string | undefined): readonly View[] {
  let told: unknown
  try {
    told = JSON.parse(kept ?? '[]')
  } catch {
    return []
  }
  return Array.isArray(told) ? told.filter(isView).slice(0, viewsMax) : []
}

function isView(told: unknown): told is View {
  const { name, query } = (told ?? {}) as { readonly [field in keyof View]?: unknown }
  if (typeof name !== 'string' || typeof query !== 'string') return false
  return name !== '' && name.length <= nameMax && /^\?[^#]+$/.test(query) && query.length <= queryMax
}

/** Puts a view in the place of the one that was called `before`, and of any that has its name; else at the end. */
export function withView(views: readonly View[], { name, query }: View, before = name): readonly View[] {
  const at = views.findIndex(view => view.name === before)
  const rest = views.filter(view => view.name !== before && view.name !== name)
  return rest.toSpliced(at === -1 ? rest.length : at, 0, { name, query })
}

export function withoutView(views: readonly View[], name: string): readonly View[] {
  return views.filter(view => view.name !== name)
}
