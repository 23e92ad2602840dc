import type { Micros } from '../util/units.ts'

/** What of one tier of one model was charged in a month, and given back. */
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
  /** Of that, for charges of earlier months. */
  readonly refundedEarlier: Micros
  /** What was given back since, for charges of this month. It is part of later statements. */
  readonly refundedLater: Micros
  readonly closing: Micros
  readonly lines: readonly StatementLine[]
}
