import {
  asBase64,
  cutEscape,
  hasOddEscape,
  type Level,
  levelsMax,
  levelsOf,
  mayEscape,
  placeOf,
  undo,
} from './escapes.ts'

/** The longest form of a character that is searched across chunks: `\u0026#x041;` */
const signBytesMax = 12

const asTextBytesMax = 2_048

/** Bytes of a text. */
export type Range = { readonly from: number; readonly to: number }

/** The part that every base64 of a secret contains, whatever surrounds it. */
type Base64 = { readonly text: Buffer; readonly isCutBefore: boolean; readonly isCutBehind: boolean }

/**
 * Finds secrets in a text however it quotes them: plain, with some or all characters escaped for JSON, URLs or HTML, in
 * base64 of either alphabet at any offset, and in hexadecimal digits. The time is linear in the length.
 */
export class SecretSearch {
  readonly #plain: readonly Buffer[]
  readonly #digits: readonly Buffer[]
  /** By the offset of the secret in groups of three bytes. */
  readonly #base64: readonly Base64[]
  /** Runs of letters and digits, one of which is in every text that quotes a secret without escaping letters. */
  readonly #runs: readonly Buffer[]
  readonly #runTexts: readonly string[]
  /** The longest quotation that is searched across chunks, in bytes. */
  readonly bytesMax: number

  constructor(secrets: readonly string[]) {
    this.#plain = secrets.map(secret => Buffer.from(secret))
    this.#digits = this.#plain.flatMap(one => [one.toString('hex'), one.toString('hex').toUpperCase()].map(toBuffer))
    this.#base64 = this.#plain.flatMap(one => [0, 1, 2].map(before => base64Of(one, before)))
    const looked = [...this.#plain, ...this.#base64.map(({ text }) => text)]
    this.#runs = looked.map(longestRun)
    this.#runTexts = this.#runs.map(String)
    this.bytesMax = signBytesMax * Math.max(0, ...looked.map(({ length }) => length))
  }

  get isEmpty(): boolean {
    return this.#plain.length === 0
  }

  /** Whether it may contain a secret, at a glance; hexadecimal digits are not noticed. */
  mayHave(text: Buffer): boolean {
    if (text.length > asTextBytesMax) return this.#runs.some(run => text.includes(run)) || hasOddEscape(text)
    // Searching a short text again costs less than calling a buffer.
    const short = text.toString('latin1')
    for (const run of this.#runTexts) if (short.includes(run)) return true
    return mayEscape(short) && hasOddEscape(text)
  }

  find(text: Buffer): readonly Range[] {
    const ranges: Range[] = []
    for (const level of levelsOf(text)) {
      const add = (from: number, to: number): void => {
        ranges.push({ from: placeOf(level, from), to: placeOf(level, to) })
      }
      for (const one of [...this.#plain, ...this.#digits])
        for (const at of placesOf(level.text, one)) add(at, at + one.length)
      const { text, signs } = asBase64(level)
      const signOf = (at: number): number => (signs ? (signs[at] as number) : at)
      for (const { text: one, isCutBefore, isCutBehind } of this.#base64)
        for (const at of placesOf(text, one)) {
          const end = at + one.length
          const first = isCutBefore && isBase64(text[at - 1]) ? at - 1 : at
          const last = isCutBehind && isBase64(text[end]) ? end : end - 1
          add(signOf(first), signOf(last) + 1)
        }
    }
    return ranges
  }

  /** The possible beginning of a secret that the text ends within; its length if there is none. */
  begun(text: Buffer): number {
    let begun = text.length
    let level: Level | undefined = { text }
    for (let i = 0; level && i <= levelsMax; i++) {
      const cut = cutEscape(level.text)
      const whole: Level = { ...level, text: level.text.subarray(0, cut) }
      begun = Math.min(begun, placeOf(level, Math.min(cut, this.#begunIn(whole.text))))
      level = undo(whole)
    }
    return begun
  }

  #begunIn(whole: Buffer): number {
    const plain = begunIn(whole, this.#plain)
    const { text, signs } = asBase64({ text: whole })
    const base64 = begunIn(
      text,
      this.#base64.map(one => one.text),
    )
    return Math.min(plain, base64 === text.length ? whole.length : signs ? (signs[base64] as number) : base64)
  }
}

/** Replaces each byte of what was found by a star. */
export function strike(text: Buffer, ranges: readonly Range[]): void {
  for (const { from, to } of ranges) text.fill('*', from, to)
}

function* placesOf(text: Buffer, sought: Buffer): Generator<number> {
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) yield at
}

/** The first offset where one of them begins and the text ends before or with it: what follows may belong to it. */
function begunIn(text: Buffer, sought: readonly Buffer[]): number {
  let begun = text.length
  for (const one of sought) {
    const first = one[0] as number
    let at = text.indexOf(first, Math.max(0, text.length - one.length))
    while (at >= 0 && at < begun) {
      if (text.compare(one, 0, text.length - at, at) === 0) begun = at
      else at = text.indexOf(first, at + 1)
    }
  }
  return begun
}

/** The characters of its base64 that are the same whatever surrounds it, after so many bytes. */
function base64Of(secret: Buffer, before: number): Base64 {
  const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64')
  const bits = (before + secret.length) * 8
  const whole = Buffer.from(text.slice(before === 0 ? 0 : before + 1, Math.floor(bits / 6)))
  return { text: whole, isCutBefore: before > 0, isCutBehind: bits % 6 > 0 }
}

function longestRun(text: Buffer): Buffer {
  const runs = text.toString('latin1').match(/[A-Za-z0-9]+/g) ?? ['']
  return Buffer.from(runs.reduce((a, b) => (b.length > a.length ? b : a)))
}

function isBase64(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z0-9+/]/.test(String.fromCharCode(byte))
}

function toBuffer(text: string): Buffer {
  return Buffer.from(text)
}
