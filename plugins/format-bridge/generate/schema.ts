import type { Json } from '../../../src/plugin-api/index.ts'
import { asList, asObject, asText, type JsonObject } from '../neutral/index.ts'
import { camelCased } from './fields.ts'

/**
 * Converts the format's own schemas (OpenAPI 3.0: `type: STRING`, `nullable`) to JSON Schema. A request may also
 * contain JSON Schema itself, which is sent unchanged in `parametersJsonSchema` and `responseJsonSchema`.
 */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const { type, nullable, properties, items, anyOf, propertyOrdering: _, ...others } = camelCased(schema)
  const name = asText(type)?.toLowerCase()
  const isTyped = name !== undefined && name !== 'type_unspecified'
  return {
    ...numbersOf(others),
    ...(isTyped && { type: nullable === true ? [name, 'null'] : name }),
    ...(asObject(properties) && { properties: mapValues(asObject(properties) ?? {}, nested) }),
    ...(asObject(items) && { items: nested(items) }),
    ...(Array.isArray(anyOf) && { anyOf: asList(anyOf).map(nested) }),
  }
}

function nested(value: Json | undefined): Json {
  const own = asObject(value)
  return own ? jsonSchemaOf(own) : (value ?? null)
}

/** The format writes 64-bit numbers as texts. */
const counts = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])

function numbersOf(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]): readonly [string, Json] => [
      name,
      counts.has(name) && typeof value === 'string' ? Number(value) : value,
    ]),
  )
}

function mapValues(own: JsonObject, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [name, change(value)]))
}
