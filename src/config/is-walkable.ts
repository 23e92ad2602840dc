import { formats } from './formats.ts'
import { compilePattern } from './walk-schema.ts'

/**
 * Whether a schema is a sound one made of no more than `walkSchema` knows. Of any other, which somebody's plugin may
 * bring, `ajv` says what it means, or what is wrong with it.
 */
export function isWalkable(schema: unknown): boolean {
  return isSound(schema, false) && (schema as { readonly default?: unknown }).default === undefined
}

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

/** `isChoice`: of a schema whose errors may count for nothing, where no default can be filled in. */
function isSound(schema: unknown, isChoice: boolean): boolean {
  if (!isMapping(schema) || (isChoice && schema['default'] !== undefined)) return false
  return Object.entries(schema).every(([keyword, value]) => {
    const isKnown = Object.hasOwn(keywords, keyword) ? keywords[keyword as Keyword] : undefined
    return isKnown?.(value, schema, isChoice) ?? false
  })
}

type Check = (value: unknown, schema: { readonly [keyword: string]: unknown }, isChoice: boolean) => boolean
type Keyword = keyof typeof keywords

const isAnything: Check = () => true
const isText: Check = value => typeof value === 'string'
const isNumber: Check = value => Number.isFinite(value)
const isCount: Check = value => Number.isSafeInteger(value) && Number(value) >= 0
const isRest: Check = (value, _, isChoice) => value === false || isSound(value, isChoice)

const keywords = {
  title: isText,
  description: isText,
  default: isAnything,
  deprecated: isAnything,
  examples: isAnything,
  type: value => [value].flat().every(type => types.has(type as string)) && [value].flat().length > 0,
  const: isScalar,
  enum: value => Array.isArray(value) && value.length > 0 && value.every(isScalar),
  anyOf: value => Array.isArray(value) && value.length > 0 && value.every(one => isSound(one, true)),
  maximum: isNumber,
  minimum: isNumber,
  exclusiveMaximum: isNumber,
  exclusiveMinimum: isNumber,
  maxLength: isCount,
  minLength: isCount,
  pattern: value => typeof value === 'string' && isPattern(value),
  format: value => typeof value === 'string' && Object.hasOwn(formats, value),
  maxItems: isCount,
  minItems: isCount,
  items: (value, _, isChoice) =>
    Array.isArray(value) ? value.every(one => isSound(one, isChoice)) : isSound(value, isChoice),
  additionalItems: (value, schema, isChoice) => Array.isArray(schema['items']) && isRest(value, schema, isChoice),
  uniqueItems: (_, { items }) => isMapping(items) && isOfScalars(items['type']),
  maxProperties: isCount,
  minProperties: isCount,
  required: value => Array.isArray(value) && value.every(one => typeof one === 'string'),
  propertyNames: value => isSound(value, true),
  additionalProperties: isRest,
  properties: (value, _, isChoice) => isMapping(value) && Object.values(value).every(one => isSound(one, isChoice)),
} as const satisfies { readonly [keyword: string]: Check }

function isOfScalars(type: unknown): boolean {
  return type === undefined || (typeof type === 'string' && type !== 'object' && type !== 'array')
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function isMapping(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPattern(text: string): boolean {
  try {
    return compilePattern(text).unicode
  } catch {
    return false
  }
}
