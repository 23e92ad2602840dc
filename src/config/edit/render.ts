import type { Json } from '../../domain/index.ts'

// Renders values as YAML on one line, valid inside and outside brackets.

/** Text that never needs quotes, and that YAML reads as this same text. */
const plainText = /^[A-Za-z0-9_][\w./-]*$/
const otherType = /^(?:true|false|null|[-+.]?\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?|0[xob][\da-f]+|\.inf|\.nan)$/i

/** The quotes of the text that the new one replaces. */
export type Quotes = 'single' | 'double' | 'none'

export function renderText(text: string, quotes: Quotes = 'none'): string {
  // A JSON text is a YAML text too. Single quotes allow no escapes except for the quote itself.
  if (quotes === 'single' && !/[\p{Cc}\p{Cs}]/u.test(text)) return `'${text.replaceAll("'", "''")}'`
  return quotes === 'none' && isPlain(text) ? text : JSON.stringify(text)
}

/** Writes a name without quotes where that is safe. A number is a valid name: names are read as spelled. */
export function renderKey(key: string): string {
  return isPlain(key) ? key : JSON.stringify(key)
}

function isPlain(text: string): boolean {
  return plainText.test(text) && !otherType.test(text)
}

/** Renders a value on one line. Texts that look like numbers, such as prices, are quoted. */
export function renderValue(value: Json, quotes?: Quotes): string {
  if (typeof value === 'string') return renderText(value, quotes)
  if (Array.isArray(value)) return `[${value.map(one => renderValue(one)).join(', ')}]`
  if (value === null || typeof value !== 'object') return String(value)
  const entries = Object.entries(value).map(([key, one]) => `${renderKey(key)}: ${renderValue(one)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

/** A name with its value; with `asBlock` each member of a mapping is on its own line. */
export function renderEntry(key: string, value: Json, indent: string, asBlock: boolean): string {
  const name = renderKey(key)
  if (!asBlock || value === null || typeof value !== 'object' || Array.isArray(value))
    return `${name}: ${renderValue(value)}`
  const lines = Object.entries(value).map(([key, one]) => `${indent}  ${renderKey(key)}: ${renderValue(one)}`)
  return lines.length === 0 ? `${name}: {}` : [`${name}:`, ...lines].join('\n')
}
