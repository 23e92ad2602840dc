import type { Json } from '../../src/plugin-api/index.ts'

/** A JSON object: neither null nor a list. */
export function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
