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

/** The maximum length of a client's text in a charge. */
const textMax = 100

/** The place of the images in an operation's answers. */
export function shapeOf(operation: string, facet: BillingFacet): Shape {
  const shape = facet.answers?.[operation] ?? 'data'
  return typeof shape === 'string' ? shape : 'described'
}

/** Whether images may be returned. Background results do not pass through here, and could not be charged. */
export function chargesImages(operation: string, body: Body, facet: BillingFacet): boolean {
  const shape = shapeOf(operation, facet)
  if (shape !== 'output') return shape !== 'none'
  const background = readField(body, 'background') ?? false
  return imageToolOf(body) !== undefined && background === false
}

/** The requested size as the family reads it. A family without sizes forwards it as sent, and it decides nothing. */
export function readRequestedSize(slots: Slots, body: Body): AskedSize {
  const requested = slots.get(askedSizeSlot)
  if (requested) return requested
  const text = textOf(body, 'size')
  return { text, size: { kind: text === null ? 'none' : 'unread' }, resolution: null, expected: null }
}

/**
 * A field as the client sent it, null if absent; values other than text as JSON. Truncated, because charges are stored
 * forever.
 */
export function textOf(body: Body, name: string): string | null {
  const value = readField(body, name) ?? null
  if (isAbsent(value, false)) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}
