import { translate, tName } from './index.ts'
import { momentText } from './moment.ts'

/** Values that are the gateway's names, by the prefix of their texts. */
const named = new Set(['limit', 'counts', 'budget'])

type Kept = { readonly [name: string]: string | number | null }

/** The stored values of an error, in the reader's language. Unknown values are left out. */
export function tFailureValues(values: Kept | null): { readonly [name: string]: string } {
  const all = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(all.map(([name, value]) => [name, valueText(name, value ?? '')] as const))
}

/**
 * The error in a sentence. Undefined if it has no text, or the row lacks its values: a row from an earlier version has
 * only the code.
 */
export function tFailure(error: string, shown: { readonly [name: string]: string }): string | undefined {
  const word = `failure.${error}`
  const text = translate(word, shown)
  return text === word || /\{\w+\}/.test(text) ? undefined : text
}

function valueText(name: string, value: string | number): string {
  if (named.has(name)) return tName(`failure.${name}`, String(value))
  return name === 'renews' ? momentText(new Date(value)) : String(value)
}
