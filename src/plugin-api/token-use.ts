import type { Outcome } from './outcome.ts'
import { defineSlot } from '../domain/slots.ts'

/** The tokens of one exchange, for limits that count them. Integers. */
export type TokenUse = {
  /** The estimated maximum, known before an upstream is called. */
  readonly estimate: number
  /**
   * The actual number, known at the end: the reported number, or an estimate from the length of the request and of the
   * response so far.
   */
  actual(outcome: Outcome): number
}

/** Set at `onTarget` if the exchange uses tokens. */
export const tokenUseSlot = defineSlot<TokenUse>('token-use')
