import type { Declared } from './declared.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/**
 * A JSON object as bytes, in which only the top-level members have been found and nothing else was parsed. `bytes` is
 * the serialized form: the client's own buffer until something changes.
 */
export type JsonObjectView = {
  readonly bytes: Buffer
  /** The tools and further models that the client's text declares. Later changes never declare any. */
  readonly declared: Declared
  names(): readonly string[]
  has(name: string): boolean
  /**
   * The parsed value of one member; undefined if absent. Parsing blocks the event loop.
   * @throws Failure field_too_long if its text is longer than `bytesMax`
   */
  get(name: string, bytesMax?: number): Json | undefined
  /** The number of elements of a member that is a list; undefined for other members. Parses nothing. */
  elements(name: string): number | undefined
  /** The raw bytes of one member's value, for readers that do not need all of it; undefined if absent. */
  raw(name: string): Buffer | undefined
  /** A new view with members set, added, or (undefined) removed; untouched members keep their bytes. */
  with(changes: ReadonlyMap<string, Json | undefined>): JsonObjectView
  /** A new view with only the named members, in the order they were sent. */
  pick(keep: (name: string) => boolean): JsonObjectView
  /**
   * A new view without the listed members, at any depth; the remaining members keep their bytes. A path has names
   * joined by dots, and `[]` for an element of a list: `options.count`, `tools[].name`. Names of more than 256 bytes
   * are kept.
   */
  prune(drops: (name: string, path: () => string) => boolean): JsonObjectView
}
