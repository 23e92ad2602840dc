import type { Ajv, ErrorObject, Options } from 'ajv'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type FormatName, formats, isOf } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'

/** One mismatch between a value and its schema. */
export type SchemaError = {
  /** Steps from the root to the value, or to the mapping that lacks or must not have a key. */
  readonly path: readonly string[]
  readonly keyword: string
  readonly params: { readonly [name: string]: unknown }
  /** The schema that was not met. */
  readonly schema: SchemaData
  /** The place of the keyword in the whole schema: `#/properties/…/type`. */
  readonly schemaPath: string
  /** Set if a key does not fit. */
  readonly key: string | undefined
}

/** Fills defaults into `value` and returns every schema error; empty if it is valid. */
export type Validate = (value: unknown) => readonly SchemaError[]

export type Check = { (value: unknown): boolean; errors?: ErrorObject[] | null }

const require = createRequire(import.meta.url)
const checks = Object.fromEntries(
  Object.entries(formats).map(([name, format]) => [name, (text: string) => isOf(format, text)]),
) as { readonly [name in FormatName]: (text: string) => boolean }

/** The options of `ajv`, at build time and at run time. */
export const ajvOptions = {
  allErrors: true,
  useDefaults: true,
  allowUnionTypes: true,
  strictTypes: false,
  strictTuples: false,
  messages: false,
  // The meta schema and the optimizer take 10 ms of a start each; one validation does not save that time.
  validateSchema: false,
  meta: false,
  code: { optimize: false },
  formats: checks,
} as const satisfies Options

/**
 * Compiles a JSON Schema (draft-07) into a validator. The build has compiled the schemas of the gateway and of its own
 * plugins (`src/tools/compile-schemas.ts`), because that takes more time than the rest of a start.
 * @throws Error for an invalid schema, which is the plugin author's fault
 */
export function createValidator(schema: SchemaData): Validate {
  const known = validators.get(schema)
  if (known) return known
  const check = compiledAhead()[digestOf(schema)] ?? compile(schema)
  const validate: Validate = value =>
    check(value) ? [] : (check.errors ?? []).map(error => toSchemaError(error, schema))
  validators.set(schema, validate)
  return validate
}

/** By schema: a reload uses the same validators. */
const validators = new WeakMap<SchemaData, Validate>()

/**
 * Compiles a schema at run time. Errors include their schemas, because a path through a `$ref` does not lead to them.
 * @throws Error
 */
export function compile(schema: SchemaData): Check {
  const { Ajv: Compiler } = require('ajv') as { readonly Ajv: typeof Ajv }
  return new Compiler({ ...ajvOptions, verbose: true }).compile(schema)
}

/** The name of the function that the build generates for a schema. */
export function digestOf(schema: SchemaData): string {
  return `check_${createHash('sha256').update(JSON.stringify(schema)).digest('hex')}`
}

/** The file that the build writes, relative to the sources or to the built package. */
export const compiledFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/schemas.cjs' : '../../schemas.cjs', import.meta.url),
)

let ahead: { readonly [digest: string]: Check } | undefined

/** The functions of the schemas that the build has compiled, by `digestOf`. */
export function compiledAhead(): { readonly [digest: string]: Check } {
  if (ahead) return ahead
  const compiled = existsSync(compiledFile) ? (require(compiledFile) as object) : {}
  Object.assign(compiled, { formats: checks })
  ahead = compiled as { readonly [digest: string]: Check }
  return ahead
}

function toSchemaError(error: ErrorObject, whole: SchemaData): SchemaError {
  return {
    path: error.instancePath.split('/').slice(1).map(decodeStep),
    keyword: error.keyword,
    params: error.params,
    schema: error.parentSchema ?? schemaAt(whole, error.schemaPath),
    schemaPath: error.schemaPath,
    key: error.propertyName,
  }
}

/** The schema with the keyword at a path such as `#/properties/…/type`. */
export function schemaAt(whole: SchemaData, keywordPath: string): SchemaData {
  const steps = keywordPath.split('/').slice(1, -1)
  return steps.reduce((at, step) => at[decodeStep(decodeURIComponent(step))] as SchemaData, whole)
}

function decodeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
