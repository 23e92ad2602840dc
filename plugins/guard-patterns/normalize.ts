/** A text as patterns read it, with the places of its characters in the original text. */
export type Normalized = {
  readonly text: string
  /** For each character of `text`: where its original spelling begins and ends. */
  readonly from: readonly number[]
  readonly to: readonly number[]
}

/**
 * A character with its marks, or with the vowels and finals of Hangul. At most 32 of them, more than any letter has: Unicode
 * sorts marks, which takes long for many.
 */
const cluster = /[^][\p{M}\u1161-\u11ff]{0,32}/uy
/** Characters that show nothing: of no width, soft hyphens, directions, selectors of variants. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu
/** ASCII and Chinese characters have one spelling. Most texts have no others. */
const plainText = /^[\0-\x7f\u4e00-\u9fff]*$/

/**
 * The text in the spelling that Unicode calls compatible (NFKC): without characters that show nothing, and with ordinary
 * letters for wide, circled, joined and mathematical ones.
 * @returns undefined for a text that is spelled so
 */
export function normalize(text: string): Normalized | undefined {
  if (plainText.test(text)) return undefined
  const [from, to]: [number[], number[]] = [[], []]
  let [plain, at, isSame] = ['', 0, true]
  while (at < text.length) {
    const end = endOf(text, at)
    const written = text.slice(at, end)
    const read = end === at + 1 && isPlain(text.charCodeAt(at)) ? written : spell(written)
    plain += read
    isSame &&= read === written
    for (let i = 0; i < read.length; i++) {
      from.push(at)
      to.push(end)
    }
    at = end
  }
  return isSame ? undefined : { text: plain, from, to }
}

/** Whether a character is one of `plainText`. */
function isPlain(code: number): boolean {
  return code <= 0x7f || (code >= 0x4e00 && code <= 0x9fff)
}

/** Where the cluster ends that begins at `at`. */
function endOf(text: string, at: number): number {
  if (isPlain(text.charCodeAt(at)) && (at + 1 === text.length || isPlain(text.charCodeAt(at + 1)))) return at + 1
  cluster.lastIndex = at
  cluster.test(text)
  return cluster.lastIndex
}

/** A text in the spelling of `normalize`. */
export function spell(text: string): string {
  return text.replaceAll(invisible, '').normalize('NFKC')
}
