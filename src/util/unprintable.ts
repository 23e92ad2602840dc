/**
 * Characters that a terminal interprets: control characters, line ends, and characters that change the text direction.
 */
const obeyed = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** One line of text as one line: such characters are written as `\u001b`. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(obeyed, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
