import { isDeepStrictEqual } from 'node:util'
import { formats, isOf } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'
import type { SchemaError } from './schema-error.ts'

/** A value's place, and that of the schema that it is held against. */
type Place = Pick<SchemaError, 'path' | 'schemaPath' | 'key'>
type Mapping = { [key: string]: unknown }
type Tell = (keyword: string, params: SchemaError['params']) => void

/**
 * Holds a value against a schema as the schema stands: what a compiled validator gains by its second value, a start that
 * has one pays for and never gets back. Fills defaults in and tells the same errors, in the same order, as `ajv` does
 * (`compile-schema.ts`), for the schemas that `isWalkable` says yes to.
 */
export function walkSchema(schema: SchemaData, value: unknown): readonly SchemaError[] {
  const errors: SchemaError[] = []
  walk(schema, value, { path: [], schemaPath: '#', key: undefined }, errors)
  return errors
}

/** The keywords of each kind of value, in the order in which kinds and keywords are held against it. */
const groups = [
  {
    type: 'number',
    keywords: ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'format'],
    hold: holdNumber,
  },
  { type: 'string', keywords: ['maxLength', 'minLength', 'pattern', 'format'], hold: holdText },
  { type: undefined, keywords: ['const', 'enum', 'anyOf'], hold: holdAny },
  { type: 'array', keywords: ['maxItems', 'minItems', 'additionalItems', 'items', 'uniqueItems'], hold: holdList },
  {
    type: 'object',
    keywords: ['maxProperties', 'minProperties', 'required', 'propertyNames', 'additionalProperties', 'properties'],
    hold: holdMapping,
  },
] as const

function walk(schema: SchemaData, value: unknown, place: Place, errors: SchemaError[]): void {
  const tell: Tell = (keyword, params) =>
    errors.push({ ...place, keyword, params, schema, schemaPath: `${place.schemaPath}/${keyword}` })
  const types = typesOf(schema)
  // A single type is told of in its turn among the groups, where one of them is about it.
  const inTurn = types.length === 1 && groups.some(({ type, keywords }) => type === types[0] && says(schema, keywords))
  if (types.length > 0 && !inTurn && !types.some(type => isA(type, value))) tell('type', { type: schema['type'] })
  for (const { type, keywords, hold } of groups) {
    if (!says(schema, keywords)) continue
    if (type === undefined || isA(type, value)) hold(schema, value as never, tell, place, errors)
    else if (inTurn && type === types[0]) tell('type', { type: schema['type'] })
  }
}

function holdNumber(schema: SchemaData, value: number, tell: Tell): void {
  const bound = (keyword: string, comparison: string, isBeyond: (limit: number) => boolean): void => {
    const limit = schema[keyword]
    if (typeof limit === 'number' && isBeyond(limit)) tell(keyword, { comparison, limit })
  }
  bound('maximum', '<=', limit => value > limit)
  bound('minimum', '>=', limit => value < limit)
  bound('exclusiveMaximum', '<', limit => value >= limit)
  bound('exclusiveMinimum', '>', limit => value <= limit)
}

function holdText(schema: SchemaData, value: string, tell: Tell): void {
  const { pattern, format } = schema
  holdCount(schema, 'Length', () => countCharacters(value), tell)
  if (typeof pattern === 'string' && !compilePattern(pattern).test(value)) tell('pattern', { pattern })
  if (isFormat(format) && !isOf(formats[format], value)) tell('format', { format })
}

function holdAny(schema: SchemaData, value: unknown, tell: Tell, place: Place, errors: SchemaError[]): void {
  const { const: only, enum: allowed, anyOf } = schema
  if (only !== undefined && value !== only) tell('const', { allowedValue: only })
  if (Array.isArray(allowed) && !allowed.includes(value)) tell('enum', { allowedValues: allowed })
  if (!Array.isArray(anyOf)) return
  const before = errors.length
  for (const [i, choice] of anyOf.entries()) {
    const so = errors.length
    walk(choice as SchemaData, value, { ...place, schemaPath: `${place.schemaPath}/anyOf/${i}` }, errors)
    if (errors.length > so) continue
    errors.length = before
    return
  }
  tell('anyOf', {})
}

function holdList(schema: SchemaData, list: unknown[], tell: Tell, place: Place, errors: SchemaError[]): void {
  const { items, additionalItems, uniqueItems } = schema
  const tuple = Array.isArray(items) ? (items as readonly SchemaData[]) : undefined
  for (const [i, { default: given }] of (tuple ?? []).entries())
    if (given !== undefined && list[i] === undefined) list[i] = structuredClone(given)
  holdCount(schema, 'Items', () => list.length, tell)
  const inner = (i: number, at: string): Place => ({
    ...place,
    path: [...place.path, String(i)],
    schemaPath: `${place.schemaPath}/${at}`,
  })
  const rest = tuple ? additionalItems : items
  const from = tuple?.length ?? 0
  if (rest === false && list.length > from) tell('additionalItems', { limit: from })
  else if (isSchema(rest))
    for (let i = from; i < list.length; i++) walk(rest, list[i], inner(i, tuple ? 'additionalItems' : 'items'), errors)
  for (const [i, one] of (tuple ?? []).entries())
    if (i < list.length) walk(one, list[i], inner(i, `items/${i}`), errors)
  if (uniqueItems === true) holdUnique(typesOf(items as SchemaData), list, tell)
}

/** Elements of a type that none of these is may repeat; where no type is said, none may. */
function holdUnique(types: readonly string[], list: readonly unknown[], tell: Tell): void {
  if (types.length === 0) return holdAllUnique(list, tell)
  const seen = new Map<unknown, number>()
  for (let i = list.length - 1; i >= 0; i--) {
    const element = list[i]
    if (!types.some(type => isA(type, element))) continue
    const j = seen.get(element)
    if (j !== undefined) return tell('uniqueItems', { i, j })
    seen.set(element, i)
  }
}

function holdAllUnique(list: readonly unknown[], tell: Tell): void {
  for (let i = list.length - 1; i > 0; i--)
    for (let j = i - 1; j >= 0; j--) if (isDeepStrictEqual(list[i], list[j])) return tell('uniqueItems', { i, j })
}

function holdMapping(schema: SchemaData, mapping: Mapping, tell: Tell, place: Place, errors: SchemaError[]): void {
  const { required, propertyNames, additionalProperties } = schema
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: SchemaData }
  for (const [key, { default: given }] of Object.entries(properties))
    if (given !== undefined && mapping[key] === undefined) mapping[key] = structuredClone(given)
  holdCount(schema, 'Properties', () => Object.keys(mapping).length, tell)
  for (const missingProperty of (required ?? []) as readonly string[])
    if (mapping[missingProperty] === undefined) tell('required', { missingProperty })
  const inner = (key: string, at: string): Place => ({
    ...place,
    path: [...place.path, key],
    schemaPath: `${place.schemaPath}/${at}`,
  })
  if (isSchema(propertyNames))
    for (const propertyName of Object.keys(mapping)) {
      const so = errors.length
      const named = { ...place, schemaPath: `${place.schemaPath}/propertyNames`, key: propertyName }
      walk(propertyNames, propertyName, named, errors)
      if (errors.length > so) tell('propertyNames', { propertyName })
    }
  for (const key of Object.keys(mapping)) {
    if (Object.hasOwn(properties, key)) continue
    if (additionalProperties === false) tell('additionalProperties', { additionalProperty: key })
    else if (isSchema(additionalProperties))
      walk(additionalProperties, mapping[key], inner(key, 'additionalProperties'), errors)
  }
  for (const [key, one] of Object.entries(properties))
    if (mapping[key] !== undefined) walk(one, mapping[key], inner(key, `properties/${escapeKey(key)}`), errors)
}

function holdCount(schema: SchemaData, what: 'Length' | 'Items' | 'Properties', count: () => number, tell: Tell): void {
  const { [`max${what}`]: most, [`min${what}`]: least } = schema
  if (typeof most === 'number' && count() > most) tell(`max${what}`, { limit: most })
  if (typeof least === 'number' && count() < least) tell(`min${what}`, { limit: least })
}

function says(schema: SchemaData, keywords: readonly string[]): boolean {
  return keywords.some(keyword => schema[keyword] !== undefined)
}

function typesOf({ type }: SchemaData): readonly string[] {
  return type === undefined ? [] : ([] as string[]).concat(type as string | string[])
}

function isA(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    case 'null':
      return value === null
    default:
      return typeof value === type
  }
}

/** Characters, where `length` counts halves of some. */
function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

const patterns = new Map<string, RegExp>()

/** @throws SyntaxError */
export function compilePattern(pattern: string): RegExp {
  const known = patterns.get(pattern)
  if (known) return known
  const compiled = new RegExp(pattern, 'u')
  patterns.set(pattern, compiled)
  return compiled
}

function isFormat(format: unknown): format is keyof typeof formats {
  return typeof format === 'string' && Object.hasOwn(formats, format)
}

function isSchema(schema: unknown): schema is SchemaData {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/** A key as a step of a schema's path, which is a fragment of an address. */
function escapeKey(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}
