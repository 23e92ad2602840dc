/** About this many characters of Latin text are one token; in other scripts, about one character is one token. */
const latinPerToken = 4

/** The approximate number of tokens in texts. The upstream counts exactly. */
export function estimateTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => {
    const wide = text.replaceAll(/[\u0020-\u024f\s]/g, '').length
    return sum + wide + Math.ceil((text.length - wide) / latinPerToken)
  }, 0)
}
