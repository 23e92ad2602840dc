import type { Micros } from '../util/units.ts'

/** The charged and refunded amounts of one tier of one model in a month. */
export type StatementLine = {
  readonly model: string
  readonly tier: string
  readonly images: number
  /** Of what the tier names, such as tokens. */
  readonly quantity: number
  readonly charged: Micros
  readonly refunded: Micros
}

/** What one user owes in one group and currency: before the month, of it, and after it. */
export type StatementAccount = {
  readonly user: string
  readonly group: string
  readonly currency: string
  readonly opening: Micros
  readonly charges: number
  readonly charged: Micros
  readonly refunds: number
  readonly refunded: Micros
  /** The part of it for charges of earlier months. */
  readonly refundedEarlier: Micros
  /** Later refunds of this month's charges. They are part of later statements. */
  readonly refundedLater: Micros
  readonly closing: Micros
  readonly lines: readonly StatementLine[]
}
