import { listOf, type Shape, shapeOf } from './read.ts'

/** The context of a value in the sample. */
type Place = {
  /** The schema as sent; each `$ref` points into it. */
  readonly root: unknown
  /** The text of all strings. */
  readonly text: string
  readonly depth: number
  /** The number of values and references that may still be made: without it, a recursive schema would never end. */
  readonly budget: { left: number }
}

/** Deeper than any answer that clients read; the sample of a recursive schema has to end. */
const depthMax = 8
/** From this depth on, only required members are written. */
const depthOptionalMax = 4
const itemsMax = 64
const budgetMax = 5_000

/**
 * A value that satisfies a JSON Schema of any vendor: types (also in capitals), enums, ranges, lengths, formats,
 * arrays, `$ref`, `anyOf`, `oneOf`, `allOf`, `nullable`. Strings are `text` if the schema allows it. A `pattern` is
 * satisfied if one of a few usual strings matches it.
 */
export function sampleOf(schema: unknown, text: string): unknown {
  return sample(schema, { root: schema, text, depth: 0, budget: { left: budgetMax } })
}

function sample(given: unknown, place: Place): unknown {
  const schema = resolve(given, place)
  if ('const' in schema) return schema['const']
  const [choice] = listOf(schema['enum'])
  if (choice !== undefined) return choice
  const kind = kindOf(schema, place)
  if (kind === 'object') return sampleObject(schema, place)
  if (kind === 'array') return sampleArray(schema, place)
  if (kind === 'integer' || kind === 'number') return sampleNumber(schema, kind)
  if (kind === 'boolean') return true
  return kind === 'null' ? null : sampleText(schema, place.text)
}

/**
 * The effective schema: the target of a reference, the first of several alternatives, or all schemas of `allOf` joined.
 */
function resolve(given: unknown, place: Place, steps = 0): Shape {
  const schema = shapeOf(given)
  if (steps > depthMax || place.budget.left-- <= 0) return {}
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  if (typeof $ref === 'string') return { ...resolve(find(place.root, $ref), place, steps + 1), ...own }
  const all = listOf(allOf).map(one => resolve(one, place, steps + 1))
  if (all.length > 0) return [own, ...all].reduce<Shape>(join, {})
  const several = [...listOf(anyOf), ...listOf(oneOf)]
  if (several.length === 0) return schema
  // Deep in the sample, the alternative `null` ends a recursive schema.
  const none = several.find(one => shapeOf(one)['type'] === 'null')
  return join(own, resolve(place.depth >= depthOptionalMax && none ? none : several[0], place, steps + 1))
}

function join(a: Shape, b: Shape): Shape {
  const properties = { ...shapeOf(a['properties']), ...shapeOf(b['properties']) }
  const required = [...listOf(a['required']), ...listOf(b['required'])]
  return {
    ...a,
    ...b,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

/** Finds `#` or `#/$defs/name` in the schema itself. */
function find(root: unknown, pointer: string): unknown {
  const names = pointer.replace(/^#\/?/, '').split('/').filter(Boolean)
  return names.reduce((value: unknown, name) => {
    const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return Array.isArray(value) ? (value as unknown[])[Number(key)] : shapeOf(value)[key]
  }, root)
}

function wordOf(type: unknown): string {
  return typeof type === 'string' ? type.toLowerCase() : ''
}

/** One vendor writes types in capitals, and a type may be a list of types. */
function kindOf({ type, properties, items, prefixItems, nullable }: Shape, { depth }: Place): string {
  const kinds = (Array.isArray(type) ? (type as unknown[]) : [type]).map(wordOf)
  if (depth >= depthOptionalMax && (nullable === true || kinds.includes('null'))) return 'null'
  const kind = kinds.find(one => one !== '' && one !== 'null')
  if (kind !== undefined) return kind
  if (kinds.includes('null')) return 'null'
  if (properties) return 'object'
  return items || prefixItems ? 'array' : 'string'
}

function sampleObject({ properties, required, additionalProperties, minProperties }: Shape, place: Place): unknown {
  const needed = new Set(listOf(required))
  const below = { ...place, depth: place.depth + 1 }
  const isWritten = (name: string): boolean => {
    if (place.depth >= depthMax) return false
    return place.depth < depthOptionalMax || needed.has(name)
  }
  const named = Object.entries(shapeOf(properties)).filter(([name]) => isWritten(name))
  const made = Object.fromEntries(named.map(([name, property]) => [name, sample(property, below)]))
  const missing = count(minProperties, 0) - named.length
  for (let i = 0; i < missing; i++) made[`key_${i + 1}`] = sample(additionalProperties, below)
  return made
}

function sampleArray({ items, prefixItems, minItems, maxItems }: Shape, place: Place): unknown {
  const below = { ...place, depth: place.depth + 1 }
  const first = listOf(prefixItems).map(one => sample(one, below))
  const usual = items === undefined || items === false || place.depth >= depthOptionalMax ? 0 : 1
  const length = Math.min(Math.max(first.length || usual, count(minItems, 0)), count(maxItems, itemsMax), itemsMax)
  const rest = Array.from({ length: Math.max(0, length - first.length) }, () => sample(items, below))
  return [...first.slice(0, length), ...rest]
}

/** 1, or the nearest number to it within the range. */
function sampleNumber(schema: Shape, kind: 'integer' | 'number'): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : kind === 'integer' ? 1 : 0
  const nudge = step || 0.5
  // Older drafts have `true` instead of the bound.
  const above = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + nudge : -Infinity
  const below = typeof exclusiveMaximum === 'number' ? exclusiveMaximum - nudge : Infinity
  const low = Math.max(above, bound(minimum, -Infinity) + (exclusiveMinimum === true ? nudge : 0))
  const high = Math.min(below, bound(maximum, Infinity) - (exclusiveMaximum === true ? nudge : 0))
  const value = Math.max(low, Math.min(high, 1))
  if (step === 0) return value
  const up = Math.ceil(value / step) * step
  return up <= high ? up : Math.floor(value / step) * step
}

const formats: { readonly [format: string]: string } = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  time: '03:04:05Z',
  duration: 'P1D',
  email: 'boat@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/boat',
  url: 'https://example.com/boat',
  uuid: '01234567-89ab-4cde-8f01-23456789abcd',
}

const usualTexts = ['a', 'A', '1', 'abc', 'ABC', 'Abc', '123', 'a1', 'A1', 'abc-123', '12345', '#a1b2c3', '2026-01-02']
/** A client's pattern is matched only with short texts, so that it cannot run for long. */
const triedMax = 10
const patternMax = 200

function sampleText({ format, pattern, minLength, maxLength }: Shape, text: string): string {
  if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format] ?? ''
  const least = count(minLength, 0)
  const sized = text.padEnd(least, '.').slice(0, Math.max(least, count(maxLength, Infinity)))
  if (typeof pattern !== 'string') return sized
  const fits = compile(pattern)
  const tried = [sized, ...usualTexts].filter(one => one.length <= triedMax && one.length >= least)
  return tried.find(one => fits?.test(one)) ?? sized
}

function compile(pattern: string): RegExp | undefined {
  try {
    return pattern.length > patternMax ? undefined : new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
}

function bound(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

/** One vendor writes lengths as strings of digits. */
function count(value: unknown, otherwise: number): number {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && number >= 0 ? number : otherwise
}
