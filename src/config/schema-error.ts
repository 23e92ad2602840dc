import type { SchemaData } from './gateway-schema.ts'

/** One way in which a value does not fit its schema. */
export type SchemaError = {
  /** Steps from the root to the value, or to the mapping that lacks or must not have a key. */
  readonly path: readonly string[]
  readonly keyword: string
  readonly params: { readonly [name: string]: unknown }
  /** The schema that was not met. */
  readonly schema: SchemaData
  /** The place of that schema in the whole: `#/properties/…/type`. */
  readonly schemaPath: string
  /** Set when it is a key that does not fit. */
  readonly key: string | undefined
}

export type Validator = {
  /** Fills defaults into `value` and returns every schema error; none means that it is valid. */
  validate(value: unknown): readonly SchemaError[]
}
