import type { AskedSize, Json } from '../../src/plugin-api/index.ts'
import { chooseShape, type Shape } from './choose-shape.ts'
import { readRule } from './read-rule.ts'
import type { SizeFacet } from './schema.ts'

/** The value of a `send` field that leaves `size` unchanged. */
export const asSent = 'as-sent'

const placeholder = /\{(\w+)\}/g

/**
 * The changes to the client's fields for a size: fields to set, and `size` to remove unless it is sent. Empty if
 * nothing changes.
 */
export function sendFields(
  facet: SizeFacet,
  operation: string,
  size: AskedSize['size'],
): ReadonlyMap<string, Json | undefined> {
  const rule = readRule(facet)
  const changes = new Map<string, Json | undefined>()
  if (!rule.appliesTo.has(operation)) return changes
  const shape = chooseShape(rule, operation, size)
  if (rule.send.get('size') !== asSent) changes.set('size', undefined)
  for (const [field, template] of rule.send) {
    const value = template === asSent ? undefined : fill(template, shape)
    if (value !== undefined) changes.set(field, value)
  }
  return changes
}

/** The names between braces. */
export function placeholdersOf(template: string): readonly string[] {
  return [...template.matchAll(placeholder)].map(match => match[1] as string)
}

/** The template with its placeholders filled in; undefined if one of them has no value. */
function fill(template: string, { resolution, ratio }: Shape): string | undefined {
  const values: { readonly [name: string]: string | null } = { resolution, ratio }
  if (placeholdersOf(template).some(name => (values[name] ?? null) === null)) return undefined
  return template.replaceAll(placeholder, (_, name: string) => values[name] as string)
}
