import type { Json } from '../../../src/plugin-api/index.ts'
import { asObject, type JsonObject } from '../neutral/index.ts'

/**
 * An object with names in camel case, because JSON in this format may have `system_instruction` instead of
 * `systemInstruction`. Values are not converted, because the names in arguments and schemas belong to the client.
 */
export function camelCased(value: Json | undefined): JsonObject {
  const own = asObject(value) ?? {}
  return Object.fromEntries(Object.entries(own).map(([name, one]) => [camelCase(name), one]))
}

function camelCase(name: string): string {
  return name.includes('_') ? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name
}

/** A repeatable member: the vendor also accepts one object instead of a list of one. Undefined for anything else. */
export function repeated(value: Json | undefined): readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[]
  return value !== undefined && asObject(value) ? [value] : undefined
}
