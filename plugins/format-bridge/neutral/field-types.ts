import type { Json } from '../../../src/plugin-api/index.ts'
import { RequestFault } from './adapter.ts'
import type { Effort, JsonObject } from './conversation.ts'
import { isAbsent } from './read.ts'

const types = {
  number: { is: (value: Json) => typeof value === 'number', expected: 'a number' },
  boolean: { is: (value: Json) => typeof value === 'boolean', expected: 'a boolean' },
  text: { is: (value: Json) => typeof value === 'string', expected: 'a text' },
  list: { is: (value: Json) => Array.isArray(value), expected: 'a list' },
  object: { is: (value: Json) => typeof value === 'object' && !Array.isArray(value), expected: 'an object' },
  'text or list': {
    is: (value: Json) => typeof value === 'string' || Array.isArray(value),
    expected: 'a text or a list',
  },
  'text or object': {
    is: (value: Json) => typeof value !== 'number' && typeof value !== 'boolean' && !Array.isArray(value),
    expected: 'a text or an object',
  },
} as const

/** Names of fields, separated by spaces, by the type of their values. */
export type FieldTypes = { readonly [type in keyof typeof types]?: string }

/**
 * Refuses values of another type. The vendor of the format refuses them too; without this check, they would be left out
 * of the request, which would have no limit, for example.
 * @param at the place of `body` in the request: `generationConfig.`
 * @throws RequestFault
 */
export function checkTypes(body: JsonObject, fields: FieldTypes, at = ''): void {
  for (const [type, names] of Object.entries(fields) as [keyof typeof types, string][])
    for (const name of names.split(' ')) {
      const value = body[name]
      if (!isAbsent(value) && !types[type].is(value)) throw new RequestFault(at + name, types[type].expected)
    }
}

const efforts: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/** @throws RequestFault for a text that is not an effort */
export function asEffort(text: string | undefined, field: string): Effort | undefined {
  if (text !== undefined && !efforts.has(text)) throw new RequestFault(field, [...efforts].join(', '))
  return text as Effort | undefined
}
