import type { FromSchema, JSONSchema } from 'json-schema-to-ts'

/** A JSON Schema (draft-07) written `as const`; the type of what it admits follows from it. */
export type Schema = Exclude<JSONSchema, boolean>

/**
 * The value that a schema admits, after defaults are filled in; unknown where no particular schema is meant. `S` has no
 * constraint, because the compiler would work out what the schema of all schemas admits (minutes, then an error).
 */
export type Admits<S> = Record<never, never> extends S ? unknown : S extends Schema ? FromSchema<S> : unknown
