const charsMax = 300
/** What may be a caller's own words, a picture or a key: a log keeps none of them. */
const quotedMax = 60
const hidden = '…'
const quoted = new RegExp(`(["'\`“‘«])[^"'\`”’»]{${quotedMax},}(["'\`”’»])`, 'g')
const encoded = /[A-Za-z0-9+/_-]{40,}={0,2}/g
const keys = /\b(?:(?:sk|pk|key)[-_]|Bearer )[\w-]{8,}/g
// A link may be one that whoever has it may open: of its query nothing is kept.
const query = /(https?:\/\/[^\s?]{1,200})\?\S+/g

/**
 * Words of somebody else as the log keeps them: in one line, at most 300 characters, without what they quote at length (a prompt
 * that was refused), without what is encoded, and without anything that looks like a key.
 */
export function clipWords(text: string): string {
  const line = text
    .slice(0, 4 * charsMax)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const bare = line
    .replaceAll(query, `$1?${hidden}`)
    .replaceAll(quoted, `$1${hidden}$2`)
    .replaceAll(keys, hidden)
    .replaceAll(encoded, hidden)
  return bare.length > charsMax ? `${bare.slice(0, charsMax)}${hidden}` : bare
}
