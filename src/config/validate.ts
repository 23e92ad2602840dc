import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { formats, isOf } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'

/** One way in which a value does not fit its schema. */
export type SchemaError = {
  /** Steps from the root to the value, or to the mapping that lacks or must not have a key. */
  readonly path: readonly string[]
  readonly keyword: string
  readonly params: { readonly [name: string]: unknown }
  /** The schema that was not met. */
  readonly schema: SchemaData
  /** Where that schema stands in the whole: `#/properties/…/type`. */
  readonly schemaPath: string
  /** Set when it is a key that does not fit. */
  readonly key: string | undefined
}

export type Validator = {
  /** Fills defaults into `value` and tells every schema error; none means that it fits. */
  validate(value: unknown): readonly SchemaError[]
}

/** Compiles a schema. @throws Error when it is not one: the fault of a plugin's author. */
export function createValidator(schema: SchemaData): Validator {
  const check = compile(schema)
  return {
    validate(value) {
      return check(value) ? [] : (check.errors ?? []).map(toSchemaError)
    },
  }
}

function compile(schema: SchemaData): ValidateFunction {
  return new Ajv({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    allowUnionTypes: true,
    strictTypes: false,
    strictTuples: false,
    messages: false,
    // Start-up time: 10 ms for the meta schema, as much again for an optimiser whose gain one validation never earns.
    validateSchema: false,
    meta: false,
    code: { optimize: false },
    formats: Object.fromEntries(
      Object.entries(formats).map(([name, format]) => [name, (text: string) => isOf(format, text)]),
    ),
  }).compile(schema)
}

function toSchemaError(error: ErrorObject): SchemaError {
  return {
    path: error.instancePath.split('/').slice(1).map(decodeStep),
    keyword: error.keyword,
    params: error.params,
    schema: error.parentSchema ?? {},
    schemaPath: error.schemaPath,
    key: error.propertyName,
  }
}

function decodeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
