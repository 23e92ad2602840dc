/** A literal, a name, a number or one character of punctuation. */
const token = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|[\w$#]+|\S/g
/** White space and comments between two tokens. */
const gap = String.raw`(?:\s|//[^\n]*|/\*[^]*?\*/)*`
const closing = new Set([')', ']', '}'])

/**
 * Finds code in a source, whatever its line breaks, comments and trailing commas: planted faults name code by its
 * tokens, so that a formatter or a rewritten comment does not move them. Undefined if it is not there.
 */
export function findCode(source: string, code: string): { readonly start: number; readonly end: number } | undefined {
  const tokens = withoutComments(code).match(token) ?? []
  const pattern = tokens
    .filter((one, at) => one !== ',' || !closing.has(tokens[at + 1] ?? ''))
    .map((one, at) => (at > 0 && closing.has(one) ? `(?:,${gap})?` : '') + RegExp.escape(one))
    .join(gap)
  // A comment alone is not code.
  const found = pattern === '' ? null : new RegExp(pattern).exec(source)
  return found ? { start: found.index, end: found.index + found[0].length } : undefined
}

/** Lines that are only a comment; literals may contain comment characters. */
function withoutComments(code: string): string {
  return code.replaceAll(/^\s*(?:\/\/.*|\/\*.*\*\/)$/gm, '')
}
