import type { Micros } from '../util/units.ts'

/** The charged and refunded amounts of one tier of one model in a month. */
export type StatementLine = {
  readonly model: string
  readonly tier: string
  readonly images: number
  /** The number of the tier's units, such as tokens. */
  readonly quantity: number
  readonly charged: Micros
  readonly refunded: Micros
}

/** The debt of one user in one group and currency: before a month, its changes in the month, and after it. */
export type StatementAccount = {
  readonly user: string
  readonly group: string
  readonly currency: string
  readonly opening: Micros
  readonly charges: number
  readonly charged: Micros
  readonly refunds: number
  readonly refunded: Micros
  /** The part of `refunded` for charges of earlier months. */
  readonly refundedEarlier: Micros
  /** Later refunds of this month's charges. They are part of later statements. */
  readonly refundedLater: Micros
  readonly closing: Micros
  readonly lines: readonly StatementLine[]
}
