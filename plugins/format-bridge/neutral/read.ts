import type { Json } from '../../../src/plugin-api/index.ts'
import type { JsonObject } from './conversation.ts'

/** The value as an object; undefined if it is not one. */
export function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** The elements of a list; empty if it is not a list. */
export function asList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function asText(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The value at a path of names; undefined if a step is missing. */
export function valueAt(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  let at = value
  for (const name of names) at = asObject(at)?.[name]
  return at
}

/** Clients send null for absent values. */
export function isAbsent(value: Json | undefined): value is undefined | null {
  return value === undefined || value === null
}

/** An object without its undefined members. */
export function compact(members: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject
}

/** JSON text as a value; undefined for anything else. */
export { parseJsonIfValid as parseJson } from '../../../src/wire/index.ts'

/** Fields of a request without a neutral member. */
export function unknownFields(body: JsonObject, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(body).filter(name => !known.has(name) && !isAbsent(body[name]))
}

/** A member if it has a value; otherwise none. */
export function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: Value }
}
