import type { SchemaData } from './gateway-schema.ts'
import { isWalkable } from './is-walkable.ts'
import type { Validator } from './schema-error.ts'
import { walkSchema } from './walk-schema.ts'

/**
 * A validator of a schema. Those of all that comes with the gateway are walked: loading `ajv` and compiling them takes 45
 * ms of each start. @throws Error when the schema is not one: the fault of a plugin's author
 */
export async function createValidator(schema: SchemaData): Promise<Validator> {
  if (isWalkable(schema)) return { validate: value => walkSchema(schema, value) }
  const { compileSchema } = await import('./compile-schema.ts')
  return compileSchema(schema)
}
