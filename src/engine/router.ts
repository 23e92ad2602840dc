import type { Route } from '../domain/index.ts'

export type Match =
  | {
      readonly kind: 'route'
      readonly route: Route
      readonly params: { readonly [name: string]: string }
      /** Routes with the same requests for other API formats. */
      readonly others: readonly Route[]
    }
  /** The path exists, with other methods. */
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'none' }

type Place = Extract<Match, { kind: 'route' }> & { readonly others: Route[] }
type Pattern = Pick<Place, 'route' | 'others'> & { readonly match: RegExp; readonly names: readonly string[] }

const none: { readonly [name: string]: string } = Object.freeze({})

/** Finds a route by method and path: literal paths by one lookup, patterns in the order written. */
export class Router {
  readonly #literal = new Map<string, Map<string, Place>>()
  readonly #patterns: Pattern[] = []
  /** All methods of a path. */
  readonly methods: readonly string[]

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const same = this.#placeOf(route)
      if (same) same.others.push(route)
      else if (route.path.includes('{')) this.#patterns.push(compile(route))
      else {
        const methods = this.#literal.get(route.path) ?? new Map<string, Place>()
        methods.set(route.method, { kind: 'route', route, others: [], params: none })
        this.#literal.set(route.path, methods)
      }
    }
    this.methods = withHead([...new Set(routes.map(route => route.method)), 'OPTIONS'])
  }

  #placeOf({ method, path }: Route): Pick<Place, 'others'> | undefined {
    if (!path.includes('{')) return this.#literal.get(path)?.get(method)
    const plain = plainPath(path)
    return this.#patterns.find(({ route }) => route.method === method && plainPath(route.path) === plain)
  }

  /**
   * `path` without query, percent-encoded as sent. HEAD uses the route of GET (RFC 9110 9.3.2). A parameter takes the
   * rest of the path, slashes too, decoded. In the path of a stored object, and where the operation has `segments`, it
   * takes one segment.
   */
  find(method: string, path: string): Match {
    const methods = this.#literal.get(path)
    const literal = methods?.get(method) ?? (method === 'HEAD' ? methods?.get('GET') : undefined)
    if (literal) return literal
    const allow = methods ? [...methods.keys()] : []
    for (const { route, others, match, names } of this.#patterns) {
      const found = match.exec(path)
      if (!found) continue
      if (route.method !== method && !(method === 'HEAD' && route.method === 'GET')) {
        allow.push(route.method)
        continue
      }
      const params: { [name: string]: string } = {}
      for (const [i, name] of names.entries()) {
        const text = decode(found[i + 1] as string)
        // It becomes part of the upstream's path: a client must not reach another path there.
        if (text === undefined || dotSegment.test(text) || (route.segments && slash.test(text))) return { kind: 'none' }
        params[name] = text
      }
      return { kind: 'route', route, others, params }
    }
    return allow.length > 0 ? { kind: 'method', allow: withHead([...new Set(allow)]) } : { kind: 'none' }
  }
}

function withHead(methods: readonly string[]): readonly string[] {
  return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods
}

const slash = /[/\\]/
/** A segment that leads to another path. */
const dotSegment = /(?:^|[/\\])\.{1,2}(?:$|[/\\])/

/** The path without the names in braces. */
function plainPath(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}')
}

function compile(route: Route): Pattern {
  const names: string[] = []
  const takes = route.object?.of || route.segments ? '([^/]+)' : '(.+)'
  const source = route.path.replaceAll(/\{(\w+)\}|[^{}]+/g, (text, name: string | undefined) => {
    if (name === undefined) return RegExp.escape(text)
    names.push(name)
    return takes
  })
  return { route, others: [], match: new RegExp(`^${source}$`), names }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
