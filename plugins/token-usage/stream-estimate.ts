/** The maximum bytes around an event's text. */
const envelopeBytes = 1024

/**
 * Estimates the tokens of a stream without a count, by the bytes in which each event differs from the one before:
 * repeated bytes are envelope. No tokenizer runs here; every event counts at least one token.
 */
export class StreamEstimate {
  readonly #bytesPerToken: number
  #last: Buffer | undefined
  #tokens = 0
  #before = 0

  constructor(bytesPerToken: number) {
    this.#bytesPerToken = bytesPerToken
  }

  get tokens(): number {
    return Math.ceil(this.#tokens)
  }

  /** All tokens, including counted ones. */
  get all(): number {
    return Math.ceil(this.#before + this.#tokens)
  }

  add(data: Buffer): void {
    const last = this.#last
    this.#last = data
    if (last) this.#tokens += Math.max(1, differing(last, data) / this.#bytesPerToken)
    // The first event has no predecessor to compare with: bytes beyond the maximum envelope are text.
    else this.#tokens += Math.max(0, data.length - envelopeBytes) / this.#bytesPerToken
  }

  /** Records that the upstream has counted all output so far. */
  reset(): void {
    this.#before += this.#tokens
    this.#tokens = 0
  }
}

/** The number of bytes that are compared one by one; further bytes are compared natively, in steps that double. */
const byteLoop = 64

/** The number of bytes of `b` outside its common beginning and end with `a`. */
function differing(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  const from = common(
    most,
    (at, length) => a.compare(b, at, at + length, at, at + length) === 0,
    at => a[at] === b[at],
  )
  const aEnd = a.length
  const bEnd = b.length
  const after = common(
    most - from,
    (at, length) => a.compare(b, bEnd - at - length, bEnd - at, aEnd - at - length, aEnd - at) === 0,
    at => a[aEnd - 1 - at] === b[bEnd - 1 - at],
  )
  return b.length - from - after
}

/** The number of equal bytes among the first `most`: `same` compares a range, `sameByte` one byte. */
function common(
  most: number,
  same: (at: number, length: number) => boolean,
  sameByte: (at: number) => boolean,
): number {
  let at = 0
  while (at < most && at < byteLoop) {
    if (!sameByte(at)) return at
    at++
  }
  let length = byteLoop
  while (at + length <= most && same(at, length)) {
    at += length
    length *= 2
  }
  for (; length >= byteLoop; length = Math.floor(length / 2))
    while (at + length <= most && same(at, length)) at += length
  while (at < most && sameByte(at)) at++
  return at
}
