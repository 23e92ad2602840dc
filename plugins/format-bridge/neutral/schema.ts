import type { JsonObject } from './conversation.ts'
import { asList, asObject, asText } from './read.ts'

/** Keywords that the strict schemas of chat completions and responses refuse. */
const notStrict: readonly string[] = [
  ...'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties unevaluatedProperties'.split(
    ' ',
  ),
  ...'propertyNames minProperties maxProperties contains uniqueItems default'.split(' '),
]

/** Members with schemas by name, and members with one schema or a list of schemas. */
const byName: readonly string[] = ['properties', '$defs', 'definitions']
const nested: readonly string[] = ['anyOf', 'items', 'prefixItems', 'additionalProperties']

/**
 * Whether a schema conforms to the strict dialect of chat completions and responses: objects are closed, and every
 * property is required. Any other schema is sent without `strict`, because the vendor would refuse it.
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

const unions: readonly string[] = ['anyOf', 'oneOf', 'allOf']

/**
 * The schema of a tool. Its root must be an object without a union, because vendors refuse anything else. The
 * properties of the alternatives become its own, and the description contains the alternatives.
 */
export function toToolSchema(schema: JsonObject = emptySchema): JsonObject {
  const found = unions.filter(name => schema[name] !== undefined)
  if (schema['type'] === 'object' && found.length === 0) return schema
  const alternatives = found.flatMap(name => asList(schema[name])).map(asObject)
  const properties = Object.assign({}, ...alternatives.map(one => one?.['properties']), schema['properties'])
  const rest = Object.fromEntries(Object.entries(schema).filter(([name]) => !found.includes(name)))
  const unionTexts = found.map(name => `${name}: ${JSON.stringify(schema[name])}`)
  const description = [asText(schema['description']), ...unionTexts].filter(Boolean).join('\n\n')
  return { ...rest, type: 'object', properties, ...(description !== '' && { description }) }
}

/** A schema of a tool without arguments. */
export const emptySchema: JsonObject = { type: 'object', properties: {} }
