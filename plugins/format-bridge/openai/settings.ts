import {
  asObject,
  asText,
  compact,
  fitsStrict,
  type JsonObject,
  type Loss,
  optional,
  type OutputShape,
  RequestFault,
  type ServiceTier,
} from '../neutral/index.ts'

/** The maximum length of an end user's id. */
export const userCharsMax = 64

type SchemaShape = Extract<OutputShape, { kind: 'schema' }>

/** The description of the output's schema at `field`. @throws RequestFault */
export function parseSchema(own: JsonObject | undefined, field: string): SchemaShape {
  const schema = asObject(own?.['schema'])
  if (!schema) throw new RequestFault(`${field}.schema`, 'a JSON Schema')
  return {
    kind: 'schema',
    schema,
    strict: own?.['strict'] === true,
    ...optional('name', asText(own?.['name'])),
    ...optional('description', asText(own?.['description'])),
  }
}

export function writeSchema({ schema, name = 'answer', description, strict }: SchemaShape, losses: Loss[]): JsonObject {
  const isStrict = strict && fitsStrict(schema)
  if (strict && !isStrict) losses.push({ feature: 'strict' })
  return compact({ name, description, schema, strict: isStrict })
}

export function writeTier(tier: ServiceTier | undefined): string | undefined {
  return tier === 'standard' ? 'default' : tier
}
