import type { Outcome } from './outcome.ts'
import { defineSlot } from '../domain/slots.ts'

/** Tokens of one exchange, for limits that count them. Whole numbers. */
export type TokenUse = {
  /** What it may come to, known before an upstream is called. */
  readonly estimate: number
  /** What it came to, when it is over: as reported, else by the length of what was sent and of what has passed. */
  actual(outcome: Outcome): number
}

/** Given at `onTarget` where an exchange uses tokens at all. */
export const tokenUseSlot = defineSlot<TokenUse>('token-use')
