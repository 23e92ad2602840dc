import type { Json } from '../../../src/plugin-api/index.ts'
import { asList, asObject, asText, type JsonObject } from '../neutral/index.ts'

/** Keywords that schemas of structured output may contain here. */
const kept: ReadonlySet<string> = new Set(
  'type properties required items enum const anyOf allOf $ref $defs definitions description title format additionalProperties'.split(
    ' ',
  ),
)

/** Text formats that the vendor checks. */
const formats: ReadonlySet<Json | undefined> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
)

const byName: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/**
 * A schema in the dialect of structured output: objects are closed, `oneOf` becomes `anyOf`, and unsupported
 * constraints become a sentence in the description. The official SDK converts schemas in the same way.
 */
export function toOutputSchema(schema: JsonObject): JsonObject {
  const out: { [name: string]: Json } = {}
  const described: string[] = []
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'oneOf') out['anyOf'] = asList(value).map(toSchema)
    else if (byName.has(name)) out[name] = mapValues(asObject(value) ?? {})
    else if (name === 'anyOf' || name === 'allOf') out[name] = asList(value).map(toSchema)
    else if (name === 'items') out[name] = toSchema(value)
    else if (name === 'minItems' && (value === 0 || value === 1)) out[name] = value
    else if (kept.has(name) && (name !== 'format' || formats.has(value))) out[name] = value
    else if (name !== '$schema') described.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (out['type'] === 'object' || out['properties'] !== undefined) out['additionalProperties'] = false
  if (described.length > 0)
    out['description'] = [asText(schema['description']), `{${described.join(', ')}}`].filter(Boolean).join('\n\n')
  return out
}

function toSchema(value: Json): Json {
  const own = asObject(value)
  return own ? toOutputSchema(own) : value
}

function mapValues(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, value]) => [name, toSchema(value)]))
}
