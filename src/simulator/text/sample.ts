import { listOf, shapeOf } from './read.ts'

const depthMax = 8

/** A value that fits a JSON Schema well enough to be read by whoever sent it; strings are `text`. */
export function sampleOf(schema: unknown, text: string, depth = 0): unknown {
  const { type, enum: choices, const: only, properties, items } = shapeOf(schema)
  if (only !== undefined) return only
  const [choice] = listOf(choices)
  if (choice !== undefined) return choice
  // One vendor writes its types in capitals, and a type may be a list of them.
  const kind = String(Array.isArray(type) ? type[0] : (type ?? (properties ? 'object' : 'string'))).toLowerCase()
  if (kind === 'object') {
    const entries = depth < depthMax ? Object.entries(shapeOf(properties)) : []
    return Object.fromEntries(entries.map(([name, property]) => [name, sampleOf(property, text, depth + 1)]))
  }
  if (kind === 'array') return items === undefined || depth >= depthMax ? [] : [sampleOf(items, text, depth + 1)]
  if (kind === 'integer' || kind === 'number') return 1
  if (kind === 'boolean') return true
  return kind === 'null' ? null : text
}
