import type { Upstream } from '../domain/index.ts'

type Parameter = { readonly name: string; readonly pair: string }

/** The fixed query of every request to an upstream, encoded. */
export type FixedQuery = {
  /** Parameters that authenticate us: a path cannot replace them. */
  readonly credential: readonly Parameter[]
  /** If the path has another value, that one applies. */
  readonly fixed: readonly Parameter[]
}

/** Undefined if nothing is fixed. */
export function createFixedQuery({ credential, query }: Upstream): FixedQuery | undefined {
  const keys = credential.flatMap(one => (one.kind === 'query' ? toParameter(one.name, one.value) : []))
  const fixed = Object.entries(query).map(([name, value]) => toParameter(name, value))
  return keys.length + fixed.length > 0 ? { credential: keys, fixed } : undefined
}

/** The names of an upstream's own parameters. */
export function fixedParameters({ credential, query }: Pick<Upstream, 'credential' | 'query'>): ReadonlySet<string> {
  return new Set([...credential.flatMap(one => (one.kind === 'query' ? one.name : [])), ...Object.keys(query)])
}

/** A path with its query, and the fixed parameters. */
export function withFixedQuery(path: string, { credential, fixed }: FixedQuery): string {
  const at = path.indexOf('?')
  const written = at < 0 || at === path.length - 1 ? [] : path.slice(at + 1).split('&')
  const keys = new Set(credential.map(({ name }) => name))
  const kept = written.filter(pair => !keys.has(readName(pair)))
  const there = new Set(kept.map(readName))
  const added = [...fixed.filter(({ name }) => !there.has(name)), ...credential]
  return `${at < 0 ? path : path.slice(0, at)}?${[...kept, ...added.map(({ pair }) => pair)].join('&')}`
}

/** A path with further parameters, replacing those of the same names. */
export function withParameters(path: string, parameters: { readonly [name: string]: string }): string {
  const credential = Object.entries(parameters).map(([name, value]) => toParameter(name, value))
  return credential.length === 0 ? path : withFixedQuery(path, { credential, fixed: [] })
}

function toParameter(name: string, value: string): Parameter {
  return { name, pair: `${encodeURIComponent(name)}=${encodeURIComponent(value)}` }
}

/** The decoded name of a parameter. */
export function readName(pair: string): string {
  const name = pair.split('=', 1)[0] ?? ''
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}
