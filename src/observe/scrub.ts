const secretShapes = [/\b(?:sk|tga)-[\w-]{8,}/g, /\b(?<=Bearer )[\w.~+/=-]{8,}/g, /(?<=[?&](?:api_?)?key=)[^&\s"\\]+/g]
/** A pattern can match only text with one of these; searching for them is cheaper than the patterns. */
const secretSigns = ['sk-', 'tga-', 'Bearer ', 'key=']

const hidden = '[hidden]'
// Characters that JSON does not escape, and that control a terminal or a log viewer: DEL, C1 (0x9b starts an escape
// sequence), line and paragraph separators, bidirectional overrides.
const unruly = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const unrulyAll = new RegExp(unruly, 'g')

/** Removes secrets from text: known values, and text that looks like a key. */
export class Scrubber {
  #values: readonly string[] = []

  /** Adds values to hide, such as upstream credentials. Values below 6 characters would hide ordinary words. */
  hide(values: Iterable<string>): void {
    const all = new Set(this.#values)
    for (const value of values) {
      // The configuration has `Bearer SECRET` as one value; the secret alone must not appear either.
      for (const part of [value, ...value.split(/\s+/)]) {
        if (part.length < 6 || /^(?:bearer|basic)$/i.test(part)) continue
        all.add(part).add(JSON.stringify(part).slice(1, -1)).add(encodeURIComponent(part))
      }
    }
    // Longest first: otherwise a shorter value could hide only the beginning of a longer one.
    this.#values = [...all].toSorted((a, b) => b.length - a.length)
  }

  /** The text without secrets. */
  scrub(text: string): string {
    let clean = text
    for (const value of this.#values) if (clean.includes(value)) clean = clean.replaceAll(value, hidden)
    if (secretSigns.some(sign => clean.includes(sign))) {
      for (const shape of secretShapes) clean = clean.replaceAll(shape, hidden)
    }
    return clean
  }
}

/** Writes every character that controls a terminal or a log viewer as `\uXXXX`. */
export function escapeUnruly(text: string): string {
  if (!unruly.test(text)) return text
  return text.replaceAll(unrulyAll, char => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}
