import type { Schema } from '../util/index.ts'

/** A query's texts as what its schema wants: whole numbers and booleans. Whatever else they are, the schema judges. */
export function readQuery(query: object, schema: Schema): { readonly [name: string]: unknown } {
  const properties = (schema.properties ?? {}) as { readonly [name: string]: { readonly type?: unknown } }
  return Object.fromEntries(
    Object.entries(query).map(([name, text]: [string, unknown]) => {
      const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined
      if (type === 'integer' && typeof text === 'string' && /^\d{1,15}$/.test(text)) return [name, Number(text)]
      if (type === 'boolean' && (text === 'true' || text === 'false')) return [name, text === 'true']
      return [name, text]
    }),
  )
}
