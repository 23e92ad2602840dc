import { type Random, systemRandom } from './random.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** Every two characters, by the ten bits that they encode. */
const pairs: readonly string[] = Array.from(
  { length: 1024 },
  (_, i) => alphabet.charAt(i >> 5) + alphabet.charAt(i & 31),
)
/**
 * How far ids may be ahead of the clock, if many are created in a millisecond; a larger distance means that the clock
 * went back.
 */
const aheadMs = 1_000

/** Generates time-ordered ids. Each gateway has one generator and passes it to all its parts. */
export class Ids {
  readonly #random: Pick<Random, 'bytes'>
  #lastMs = 0
  /** The characters of `#lastMs`. */
  #spelled = spell(0)
  #counter = 0
  #pool: Buffer = Buffer.alloc(0)
  #at = 0

  constructor(random: Pick<Random, 'bytes'> = systemRandom) {
    this.#random = random
  }

  /**
   * A time-ordered id: 10 characters of milliseconds, 2 of a counter within the millisecond, 8 random (40 bits), after
   * `prefix`. Rows keyed by it are appended to their index instead of scattered over it.
   */
  next(prefix: string, nowMs: number): string {
    this.#advance(nowMs)
    if (this.#at + 8 > this.#pool.length) {
      this.#pool = this.#random.bytes(4096)
      this.#at = 0
    }
    const text = prefix + this.#spelled + pairs[this.#counter]
    return text + this.#pair() + this.#pair() + this.#pair() + this.#pair()
  }

  #pair(): string {
    const high = (this.#pool[this.#at++] as number) & 31
    return pairs[(high << 5) | ((this.#pool[this.#at++] as number) & 31)] as string
  }

  #advance(nowMs: number): void {
    // A clock that was briefly ahead was corrected: ids continue from its current time.
    if (nowMs > this.#lastMs || this.#lastMs - nowMs > aheadMs) {
      this.#lastMs = nowMs
      this.#spelled = spell(nowMs)
      this.#counter = 0
      return
    }
    this.#counter++
    if (this.#counter <= 1023) return
    this.#lastMs++
    this.#spelled = spell(this.#lastMs)
    this.#counter = 0
  }
}

/** A text that sorts at or before every id created at `ms` or later, and after every earlier one. */
export function firstIdAt(prefix: string, ms: number): string {
  return prefix + spell(Math.max(0, Math.floor(ms)))
}

/** By character code; -1 for characters that ids do not contain. */
const places = Int8Array.from({ length: 128 }, (_, code) => alphabet.indexOf(String.fromCharCode(code)))

/** When an id with this prefix was created, in milliseconds; NaN for anything else. */
export function timeOfId(prefix: string, id: string): number {
  if (!id.startsWith(prefix) || id.length < prefix.length + 10) return Number.NaN
  let ms = 0
  for (let i = prefix.length; i < prefix.length + 10; i++) {
    const place = places[id.charCodeAt(i)] ?? -1
    if (place < 0) return Number.NaN
    ms = ms * 32 + place
  }
  return ms
}

function spell(ms: number): string {
  let rest = ms
  let text = ''
  for (let i = 0; i < 10; i++) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}
