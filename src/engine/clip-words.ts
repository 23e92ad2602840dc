import { withoutRepeats } from './own-words.ts'

const charsMax = 300
/** What may be a caller's own words: a log keeps none of them. */
const quotedMax = 60
const hidden = '…'
/** A first mark, and the last one that goes with it. */
const marks: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
  ['“', '”'],
  ['‘', '’'],
  ['«', '»'],
])
const ofWord = /\w/
const encoded = /[A-Za-z0-9+/_-]{40,}={0,2}/g
const keys = /\b(?:(?:sk|pk|key)[-_]|Bearer )[\w-]{8,}/g
// A link may open for anyone who has it: of its query nothing is kept.
const query = /(https?:\/\/[^\s?]{1,200})\?\S+/g

/**
 * What somebody else says, as the log keeps it: one line, 300 characters at most, without what it quotes at length (it may be what
 * the caller sent), without what it repeats of `own`, the request's words, without what is encoded, and without anything that has
 * the shape of a key.
 */
export function clipWords(text: string, own = ''): string {
  const line = text
    .slice(0, 4 * charsMax)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const bare = hideQuoted(withoutRepeats(line, own, hidden))
    .replaceAll(query, `$1?${hidden}`)
    .replaceAll(keys, hidden)
    .replaceAll(encoded, hidden)
  return bare.length > charsMax ? `${bare.slice(0, charsMax)}${hidden}` : bare
}

/** Goes through the marks in their order, each once: what was cut off has no last one, and goes to the end. */
function hideQuoted(line: string): string {
  let bare = ''
  let at = 0
  while (at < line.length) {
    const mark = line.charAt(at)
    const last = marks.get(mark)
    const end = last === undefined || isApostrophe(line, at, mark) ? at + 1 : endOfQuote(line, at + 1, last)
    bare += end - at < quotedMax ? line.slice(at, end) : `${mark}${hidden}${line.charAt(end - 1) === last ? last : ''}`
    at = end
  }
  return bare
}

function endOfQuote(line: string, from: number, last: string): number {
  for (let at = line.indexOf(last, from); at >= 0; at = line.indexOf(last, at + 1))
    if (!isApostrophe(line, at, last)) return at + 1
  return line.length
}

/** A match inside of a word. */
function isApostrophe(line: string, at: number, mark: string): boolean {
  if (mark !== "'" && mark !== '’') return false
  return ofWord.test(line.charAt(at - 1)) && ofWord.test(line.charAt(at + 1))
}
