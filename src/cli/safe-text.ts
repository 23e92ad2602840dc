/**
 * Characters that a terminal interprets: control characters, line ends, and characters that change the text direction.
 * The same as in `util/unprintable.ts`, copied here so that `version` does not wait for the library. A test compares
 * the two.
 */
const obeyed = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/**
 * Escapes a text to one safe line: names, sizes, qualities and field names are from clients and may contain anything.
 */
export function safeLine(text: string): string {
  return text.replaceAll(obeyed, escapeOne)
}

/** Text of several lines and columns, for a terminal: it may contain names of older databases. */
export function safeLines(text: string): string {
  const escaped = text.replaceAll(obeyed, char => (char === '\n' || char === '\t' ? char : escapeOne(char)))
  return escaped.replaceAll(ownColour, '\u001b[')
}

/** Begins a colour of our own. Data cannot contain it, because every process makes another. */
const ownColour = `colour-${Math.random().toString(36).slice(2)}[`

/** Keeps the colours of a text that has been escaped before it was painted: `safeLines` lets them through. */
export function allowColours(painted: string): string {
  return painted.replaceAll('\u001b[', ownColour)
}

function escapeOne(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
