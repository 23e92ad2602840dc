import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { isMoment } from './is-moment.ts'

/** Validates a query or a body, and fills in defaults. After a refusal, `errors` contains the first error. */
export type RequestValidator = { (value: unknown): boolean; errors?: ErrorObject[] | null }

// Types are not coerced; unknown fields are rejected.
const ajv = new Ajv({
  useDefaults: true,
  addUsedSchema: false,
  // A day of a week is a word and a day of a month a number; without this, Ajv writes a warning to stderr.
  allowUnionTypes: true,
  formats: { 'date-time': isMoment },
})

/** By schema, because all servers in a process have the same routes. */
const compiled = new WeakMap<object, ValidateFunction>()

/** Compiles the schema of a query or a body. @throws Error if the schema is invalid */
export function compileRequestSchema(schema: object): ValidateFunction {
  const known = compiled.get(schema)
  if (known) return known
  const validate = ajv.compile(schema)
  compiled.set(schema, validate)
  return validate
}

/**
 * The validator of a route. Its schema is compiled on the first request, because compiling the schemas of all routes
 * takes longer than answering the first page.
 */
export function requestValidator(schema: object): RequestValidator {
  const check: RequestValidator = value => {
    const validate = compileRequestSchema(schema)
    const isValid = validate(value)
    check.errors = validate.errors ?? null
    return isValid
  }
  return check
}
