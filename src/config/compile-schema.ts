import { Ajv, type ErrorObject } from 'ajv'
import { formats, isOf } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'
import type { SchemaError, Validator } from './schema-error.ts'

/** A validator of any schema of draft-07. @throws Error when it is not one: the fault of a plugin's author */
export function compileSchema(schema: SchemaData): Validator {
  const check = new Ajv({
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
  return {
    validate: value => (check(value) ? [] : (check.errors ?? []).map(toSchemaError)),
  }
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
