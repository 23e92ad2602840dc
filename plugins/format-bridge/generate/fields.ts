import type { Json } from '../../../src/plugin-api/index.ts'
import { asObject, type JsonObject } from '../neutral/index.ts'

/**
 * An object whose names are in camel case: this format's JSON may have `system_instruction` for `systemInstruction`.
 * Values stay as they are, because arguments and schemas have names of their own.
 */
export function camelCased(value: Json | undefined): JsonObject {
  const own = asObject(value) ?? {}
  return Object.fromEntries(Object.entries(own).map(([name, one]) => [camelCase(name), one])) as JsonObject
}

function camelCase(name: string): string {
  return name.includes('_') ? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name
}
