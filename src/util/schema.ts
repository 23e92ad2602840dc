import type { FromSchema, JSONSchema } from 'json-schema-to-ts'

/** A JSON Schema (draft-07) written `as const`; the type of its values follows from it. */
export type Schema = Exclude<JSONSchema, boolean>

/**
 * The value that a schema admits, with defaults filled in; unknown without a particular schema. `S` has no constraint:
 * with one, the compiler computes the values of the schema of all schemas for minutes, and then reports an error.
 */
export type Admits<S> = Record<never, never> extends S ? unknown : S extends Schema ? FromSchema<S> : unknown

type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [N in keyof T]: Frozen<T[N]> }
    : T

/** The response type of an endpoint with this schema; any object without a particular schema. */
export type AnswerOf<S> = unknown extends Admits<S> ? object : Frozen<Admits<S>>
