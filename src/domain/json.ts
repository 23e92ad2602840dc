import type { Declared } from './declared.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/**
 * A JSON object as bytes, with its top-level members found and nothing else parsed.
 * `bytes` is what would be sent; it is the caller's own buffer until something changes.
 */
export type JsonObjectView = {
  readonly bytes: Buffer
  /** The tools and further models that the caller's text names; what was changed since names none. */
  readonly declared: Declared
  names(): readonly string[]
  has(name: string): boolean
  /**
   * The parsed value of one member; undefined when it is absent. What is parsed is parsed in one turn of the event loop.
   * @throws Failure field_too_long when its text is longer than `bytesMax`
   */
  get(name: string, bytesMax?: number): Json | undefined
  /** How many elements a member has that is a list; undefined for others. Nothing is parsed. */
  elements(name: string): number | undefined
  /** The bytes of one member's value as they came, for readers that need not have all of it; undefined when it is absent. */
  raw(name: string): Buffer | undefined
  /** A new view with members set, added, or (undefined) removed; untouched members keep their bytes. */
  with(changes: ReadonlyMap<string, Json | undefined>): JsonObjectView
  /** A new view with the named members alone, in the order they were sent. */
  pick(keep: (name: string) => boolean): JsonObjectView
  /**
   * A new view without the members, at any depth, that are to be dropped; what stays keeps its bytes. A path is names with
   * dots between them, and `[]` for an element of a list: `options.count`, `tools[].name`. Names of more than 256 bytes stay.
   */
  prune(drops: (name: string, path: () => string) => boolean): JsonObjectView
}
