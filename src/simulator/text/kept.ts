import type { Call, Site } from '../upstream.ts'
import type { Shape } from './read.ts'

/** The maximum number of stored objects; the oldest is dropped first. */
const keptMax = 10_000

export type Kept = {
  readonly kind: string
  readonly value: Shape
  readonly input: readonly unknown[]
  /** The value from the given time on. */
  readonly later?: { readonly atMs: number; readonly value: Shape }
}

const bySite = new WeakMap<Site, Map<string, Kept>>()

/** The id of an object with its account, which is the request's credential. Accounts do not share objects. */
function nameOf({ headers }: Call, id: string): string {
  return `${headers['authorization'] ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? ''} ${id}`
}

function objectsOf({ site }: Call): Map<string, Kept> {
  const objects = bySite.get(site) ?? new Map<string, Kept>()
  bySite.set(site, objects)
  return objects
}

export function keep(call: Call, id: string, kept: Kept): void {
  const objects = objectsOf(call)
  objects.delete(nameOf(call, id))
  objects.set(nameOf(call, id), kept)
  const [oldest] = objects.keys()
  if (objects.size > keptMax && oldest !== undefined) objects.delete(oldest)
}

export function findKept(call: Call, kind: string, id: string): Kept | undefined {
  const found = objectsOf(call).get(nameOf(call, id))
  if (found?.kind !== kind) return undefined
  const { later, ...rest } = found
  return later && call.site.now() >= later.atMs ? { ...rest, value: later.value } : found
}

export function forget(call: Call, id: string): void {
  objectsOf(call).delete(nameOf(call, id))
}
