/** What was ended of gateways that stopped. */
export type Recovery = {
  /** Of the recovering process. */
  readonly epoch: number
  /** Charges with items: ended at what was delivered or about to be. */
  readonly settled: number
  /** Charges without items whose requests buy nothing: hold released, nothing is charged. */
  readonly voided: number
  /** All others without: hold released, a person decides. */
  readonly toReview: number
}

/** @returns false if there was nothing to end. */
export function hasEnded({ settled, voided, toReview }: Recovery): boolean {
  return settled + voided + toReview > 0
}
