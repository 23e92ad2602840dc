import { inspect } from 'node:util'

const charsMax = 120
/** Line ends of any script, which would also end a line of the report, and invisible characters. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}]/gu

/** The name of a case in a loop of assertions: the loop's variables in one short line. */
export function caseName(variables: { readonly [name: string]: unknown }): string {
  const texts = Object.entries(variables).map(([name, value]) => `${name} ${textOf(value)}`)
  return cut(texts.join(', ')).replace(unprintable, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value))
  if (Buffer.isBuffer(value)) return `${value.length} bytes`
  return inspect(value, { depth: 1, compact: true, breakLength: Infinity, maxArrayLength: 6, maxStringLength: 40 })
}

function cut(text: string): string {
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
}
