/** What an event has around its text, at most. */
const envelopeBytes = 1024

/**
 * Tokens of a stream that nobody has counted, by the bytes in which each event differs from the one before: what repeats
 * is envelope. No tokenizer runs here; every event counts at least one token.
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

  /** Whatever somebody has counted, too. */
  get all(): number {
    return Math.ceil(this.#before + this.#tokens)
  }

  add(data: Buffer): void {
    const last = this.#last
    this.#last = data
    if (last) this.#tokens += Math.max(1, differing(last, data) / this.#bytesPerToken)
    // The first has none before it to be told from: what it has beyond any envelope is text.
    else this.#tokens += Math.max(0, data.length - envelopeBytes) / this.#bytesPerToken
  }

  /** All that has come until now was counted by somebody who knows. */
  reset(): void {
    this.#before += this.#tokens
    this.#tokens = 0
  }
}

/** Bytes of `b` that are neither its common beginning with `a` nor its common end. */
function differing(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let from = 0
  while (from < most && a[from] === b[from]) from++
  let after = 0
  while (after < most - from && a[a.length - 1 - after] === b[b.length - 1 - after]) after++
  return b.length - from - after
}
