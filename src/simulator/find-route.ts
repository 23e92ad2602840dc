import type { Handler, SimulatedUpstream } from './upstream.ts'

export type FoundRoute = { readonly handler: Handler; readonly params: { readonly [name: string]: string } }

/** The handler of a request: the handler of the exact path, or of the first matching route with a `{name}`. */
export function findRoute(upstream: SimulatedUpstream, method: string, path: string): FoundRoute | undefined {
  const exact = `${method} ${path}`
  const handler = Object.hasOwn(upstream, exact) ? upstream[exact] : undefined
  if (handler) return { handler, params: {} }
  for (const [route, one] of Object.entries(upstream)) {
    if (!route.includes('{')) continue
    const found = patternOf(route).exec(exact)
    if (found) return { handler: one, params: decodeAll(found.groups ?? {}) }
  }
  return undefined
}

function patternOf(route: string): RegExp {
  const pieces = route.split(/\{(\w+)\}/)
  return new RegExp(`^${pieces.map((piece, i) => (i % 2 === 1 ? `(?<${piece}>.+)` : RegExp.escape(piece))).join('')}$`)
}

function decodeAll(groups: { readonly [name: string]: string }): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decode(value)]))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
