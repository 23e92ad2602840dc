/** The text that patterns search, with the positions of its characters in the original text. */
export type Normalized = {
  readonly text: string
  /** For each character of `text`: the beginning and end of its original spelling. */
  readonly from: readonly number[]
  readonly to: readonly number[]
}

/**
 * A character with its marks, and the vowels and finals of Hangul, including half-width and standalone ones. At most 32
 * of them, more than any letter has: Unicode sorts marks, which takes long for many.
 */
const cluster = /[^][\p{M}\u0e33\u0eb3\u1161-\u11ff\u3131-\u318e\uff9e\uff9f\uffa1-\uffdc]{0,32}/uy
/** Invisible characters: zero-width characters, soft hyphens, direction marks, variation selectors. */
const invisible = /\p{Default_Ignorable_Code_Point}+/gu
/** ASCII and Chinese characters have one spelling. Most texts have no others. */
const plainText = /^[\0-\x7f\u4e00-\u9fff]*$/

/**
 * The text in Unicode's compatibility form (NFKC): without invisible characters, and with ordinary letters for wide,
 * circled, joined and mathematical ones.
 * @returns undefined if the text already has this form
 */
export function normalize(text: string): Normalized | undefined {
  if (plainText.test(text)) return undefined
  // Runs first, because invisible characters may come between a letter and its marks.
  const { shown, places } = withoutInvisible(text)
  const [from, to]: [number[], number[]] = [[], []]
  let [plain, at] = ['', 0]
  while (at < shown.length) {
    const end = endOf(shown, at)
    const written = shown.slice(at, end)
    const read = end === at + 1 && isPlain(shown.charCodeAt(at)) ? written : written.normalize('NFKC')
    plain += read
    const [first, last] = [places?.[at] ?? at, (places?.[end - 1] ?? end - 1) + 1]
    for (let i = 0; i < read.length; i++) {
      from.push(first)
      to.push(last)
    }
    at = end
  }
  return plain === text ? undefined : { text: plain, from, to }
}

/** The visible characters, with their positions in the text; without positions if all are visible. */
function withoutInvisible(text: string): { readonly shown: string; readonly places?: readonly number[] } {
  const places: number[] = []
  let [shown, at] = ['', 0]
  const add = (end: number): void => {
    shown += text.slice(at, end)
    for (; at < end; at++) places.push(at)
  }
  for (const { index, 0: found } of text.matchAll(invisible)) {
    add(index)
    at = index + found.length
  }
  if (at === 0) return { shown: text }
  add(text.length)
  return { shown, places }
}

/** Whether a character is one of `plainText`. */
function isPlain(code: number): boolean {
  return code <= 0x7f || (code >= 0x4e00 && code <= 0x9fff)
}

/** The end of the cluster that begins at `at`. */
function endOf(text: string, at: number): number {
  if (isPlain(text.charCodeAt(at)) && (at + 1 === text.length || isPlain(text.charCodeAt(at + 1)))) return at + 1
  cluster.lastIndex = at
  cluster.test(text)
  return cluster.lastIndex
}

/** A text in the form of `normalize`. */
export function normalForm(text: string): string {
  return text.replaceAll(invisible, '').normalize('NFKC')
}
