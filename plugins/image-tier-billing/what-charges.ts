import {
  type AskedSize,
  askedSizeSlot,
  type Body,
  imageToolOf,
  readField,
  type Slots,
} from '../../src/plugin-api/index.ts'
import { isAbsent } from './read-count.ts'
import type { BillingFacet, Shape } from './schema.ts'

/** Of a text that the caller made up a charge keeps so much. */
const textMax = 100

/** Where an operation's answers have their images. */
export function shapeOf(operation: string, facet: BillingFacet): Shape {
  const shape = facet.answers?.[operation] ?? 'data'
  return typeof shape === 'string' ? shape : 'described'
}

/** Images may come. What is made in the background comes in no answer that passes here, and could not be charged. */
export function chargesImages(operation: string, body: Body, facet: BillingFacet): boolean {
  const shape = shapeOf(operation, facet)
  if (shape !== 'output') return shape !== 'none'
  const background = readField(body, 'background') ?? false
  return imageToolOf(body) !== undefined && background === false
}

/** As the family reads it; a family that says nothing of sizes forwards what was sent, and it decides nothing. */
export function askedSize(slots: Slots, body: Body): AskedSize {
  const asked = slots.get(askedSizeSlot)
  if (asked) return asked
  const text = textOf(body, 'size')
  return { text, size: { kind: text === null ? 'none' : 'unread' }, resolution: null, expected: null }
}

/** A field as the caller sent it, null when absent; what is no text as JSON writes it. Cut: a charge is kept for good. */
export function textOf(body: Body, name: string): string | null {
  const value = readField(body, name) ?? null
  if (isAbsent(value, false)) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}
