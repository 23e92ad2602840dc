const secretShapes = [/\b(?:sk|tga)-[\w-]{8,}/g, /\b(?<=Bearer )[\w.~+/=-]{8,}/g, /(?<=[?&](?:api_?)?key=)[^&\s"\\]+/g]
/** Of any of these one must occur for a shape to match; looking for them is cheaper than running the shapes. */
const secretSigns = ['sk-', 'tga-', 'Bearer ', 'key=']

const hidden = '[hidden]'
// What JSON leaves as it is and a terminal or a log reader obeys: DEL, C1 (0x9b starts an escape sequence),
// line and paragraph separators, bidirectional overrides.
const unruly = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const unrulyAll = new RegExp(unruly, 'g')

/** Takes secrets out of text: given values at any place, and whatever has the shape of a key. */
export class Scrubber {
  #values: readonly string[] = []

  /** Adds values to hide, such as upstream credentials; those shorter than 6 characters would hide ordinary words. */
  hide(values: Iterable<string>): void {
    const all = new Set(this.#values)
    for (const value of values) {
      // `Bearer SECRET` is written in the configuration as one value; the secret alone must not appear either.
      for (const part of [value, ...value.split(/\s+/)]) {
        if (part.length < 6 || /^(?:bearer|basic)$/i.test(part)) continue
        all.add(part).add(JSON.stringify(part).slice(1, -1)).add(encodeURIComponent(part))
      }
    }
    // Longest first, or the head of one value hides and its tail shows.
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

/** Text in which every character that a terminal or a log reader would obey is written as `\uXXXX`. */
export function escapeUnruly(text: string): string {
  if (!unruly.test(text)) return text
  return text.replaceAll(unrulyAll, char => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}
