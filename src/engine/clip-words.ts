const charsMax = 300
/** What may be a caller's own words: a log keeps none of them. */
const quotedMax = 60
const hidden = '…'
/** Pairs of marks; what was cut off has no second one. An apostrophe inside of a word is none. */
const quoted =
  /"[^"]*(?:"|$)|`[^`]*(?:`|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)|(?<!\w)'(?:[^']|'(?=\w))*(?:'|$)|‘(?:[^’]|’(?=\w))*(?:’|$)/g
const encoded = /[A-Za-z0-9+/_-]{40,}={0,2}/g
const keys = /\b(?:(?:sk|pk|key)[-_]|Bearer )[\w-]{8,}/g
// A link may be one that whoever has it may open: of its query nothing is kept.
const query = /(https?:\/\/[^\s?]{1,200})\?\S+/g

/**
 * What somebody else says, as the log keeps it: one line, 300 characters at most, without what it quotes at length (it may be what
 * the caller sent), without what is encoded, and without anything that has the shape of a key.
 */
export function clipWords(text: string): string {
  const line = text
    .slice(0, 4 * charsMax)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const bare = line
    .replaceAll(query, `$1?${hidden}`)
    .replaceAll(quoted, hideLong)
    .replaceAll(keys, hidden)
    .replaceAll(encoded, hidden)
  return bare.length > charsMax ? `${bare.slice(0, charsMax)}${hidden}` : bare
}

function hideLong(words: string): string {
  if (words.length < quotedMax) return words
  const last = words.slice(-1)
  return `${words.charAt(0)}${hidden}${/["'`”’»]/.test(last) ? last : ''}`
}
