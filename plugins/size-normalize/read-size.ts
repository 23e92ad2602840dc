import { type AskedSize, isEmptyField, type Json } from '../../src/plugin-api/index.ts'

const pixels = /^([1-9]\d*)[xX×]([1-9]\d*)$/
/** Longer texts are not sizes; they are cut for the record. */
const textMax = 100

/**
 * Reads a size (`docs/rules.md#sizes`): `<w>x<h>` in whole pixels above 0, with x, X or ×; one of the labels in any
 * case; `auto`, empty or null for none. Ignores surrounding spaces. Everything else is `unread`, including numbers
 * beyond 2^53.
 */
export function readSize(value: Json | undefined, labels: readonly string[]): Pick<AskedSize, 'text' | 'size'> {
  if (value === undefined || isEmptyField(value)) return { text: null, size: { kind: 'none' } }
  const whole = typeof value === 'string' ? value : JSON.stringify(value)
  const text = whole.length > textMax ? `${whole.slice(0, textMax)}…` : whole
  return { text, size: typeof value === 'string' ? readText(value.trim(), labels) : { kind: 'unread' } }
}

function readText(text: string, labels: readonly string[]): AskedSize['size'] {
  const lower = text.toLowerCase()
  if (lower === '' || lower === 'auto') return { kind: 'none' }
  const label = labels.find(name => name.toLowerCase() === lower)
  if (label !== undefined) return { kind: 'label', label }
  const match = pixels.exec(text)
  const width = Number(match?.[1])
  const height = Number(match?.[2])
  return Number.isSafeInteger(width) && Number.isSafeInteger(height)
    ? { kind: 'pixels', width, height }
    : { kind: 'unread' }
}
