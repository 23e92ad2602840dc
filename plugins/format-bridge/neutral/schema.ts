import type { JsonObject } from './conversation.ts'
import { asList, asObject } from './read.ts'

/** Keywords that the strict schemas of chat completions and responses refuse. */
const notStrict: readonly string[] = [
  ...'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties unevaluatedProperties'.split(
    ' ',
  ),
  ...'propertyNames minProperties maxProperties contains uniqueItems default'.split(' '),
]

/** Members whose values are schemas by name, and members whose values are lists of schemas or one. */
const byName: readonly string[] = ['properties', '$defs', 'definitions']
const nested: readonly string[] = ['anyOf', 'items', 'prefixItems', 'additionalProperties']

/**
 * Whether a schema fits the strict dialect of chat completions and responses: objects are closed, and every property is
 * required. Any other schema is sent without `strict`, because the vendor would refuse it.
 */
export function fitsStrict(schema: JsonObject): boolean {
  if (notStrict.some(name => schema[name] !== undefined)) return false
  const properties = asObject(schema['properties'])
  if (schema['type'] === 'object' || properties) {
    const required = new Set(asList(schema['required']))
    if (schema['additionalProperties'] !== false) return false
    if (Object.keys(properties ?? {}).some(name => !required.has(name))) return false
  }
  const named = byName.flatMap(name => Object.values(asObject(schema[name]) ?? {}))
  const others = nested.flatMap(name => {
    const value = schema[name]
    return Array.isArray(value) ? asList(value) : value === undefined ? [] : [value]
  })
  return [...named, ...others].every(one => {
    const own = asObject(one)
    return own === undefined || fitsStrict(own)
  })
}

/** A schema of a tool without arguments. */
export const emptySchema: JsonObject = { type: 'object', properties: {} }
