/** The charges of stopped gateways that a recovery ended. */
export type Recovery = {
  /** The epoch of the recovering process. */
  readonly epoch: number
  /** Charges with items: ended at the amount that was delivered or about to be. */
  readonly settled: number
  /** Charges without items whose requests buy nothing: their hold is released, nothing is charged. */
  readonly voided: number
  /** All other charges without items: their hold is released, and they need a review. */
  readonly toReview: number
}

/** @returns false if no charge was ended */
export function hasEnded({ settled, voided, toReview }: Recovery): boolean {
  return settled + voided + toReview > 0
}
