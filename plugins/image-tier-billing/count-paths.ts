import { type Body, type Json, readField, type TextPart } from '../../src/plugin-api/index.ts'
import type { BillingFacet, Shape } from './schema.ts'

const otherwise = ['n'] as const
const none: readonly string[] = []

/**
 * The fields with the number of images in requests of the family. In a vendor's own format there are none, unless the
 * family declares some.
 */
export function countPaths(facet: BillingFacet, shape: Shape): readonly string[] {
  return facet.n_from ?? (shape === 'described' ? none : otherwise)
}

/** A form name as a path: `a[b]` and `a.b` are equal. */
export function pathOfName(name: string): string {
  return name.replaceAll(/\[([^[\]]+)\]/g, '.$1')
}

/** A value. `isText`: it is from a form. */
export type Written = { readonly value: Json; readonly isText: boolean }

/**
 * The values at a path and their source: in JSON at most one; in a form every text with that name, and the values
 * inside a text that is JSON.
 */
export function valuesAt(body: Body, path: string): readonly Written[] {
  const [first = '', ...rest] = path.split('.')
  if (body.kind === 'json') {
    const value = descend(readField(body, first), rest)
    return value === undefined ? [] : [{ value, isText: false }]
  }
  if (body.kind !== 'form') return []
  return body.parts.flatMap((part): readonly Written[] => {
    if (part.kind !== 'text') return []
    if (pathOfName(part.name) === path) return [{ value: part.value, isText: true }]
    if (part.name !== first || rest.length === 0) return []
    const value = descend(readJsonText(part), rest)
    return value === undefined ? [] : [{ value, isText: false }]
  })
}

/** A form text that is a JSON object or list; undefined for any other, and for prompts. */
export function readJsonText({ name, value }: TextPart): Json | undefined {
  if (!/^\s*[[{]/.test(value) || /prompt|text|input|instruction/i.test(name)) return undefined
  try {
    return JSON.parse(value) as Json
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function descend(value: Json | undefined, names: readonly string[]): Json | undefined {
  let at = value
  for (const name of names) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined
    at = Object.hasOwn(at, name) ? (at as { readonly [name: string]: Json })[name] : undefined
  }
  return at
}
