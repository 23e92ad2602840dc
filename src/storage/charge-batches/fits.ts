import { amountOfItems, type ChargeItem } from '../../domain/charge.ts'
import type { Posting } from '../ledger/posting.ts'
import { ageMaxMs, aheadMs, begunAt } from './time-bounds.ts'

/** The maximum of one charge: a thousand million of the currency. */
export const totalMax = 1e15
/** The maximum of a charge in a batch: ten million of the currency, so that sums of a group are still exact. */
const togetherMax = 1e13
const plainId = /^req_[0-9a-z]+(?:\.u)?$/

/**
 * Whether a charge batch can hold a charge: it has counted items, no vendor cost, and a recent request. All others have
 * separate rows, which also record their problem.
 */
export function fits({ facts, lines, at, vendorCost }: Posting): boolean {
  const age = at - begunAt(facts.id)
  return (
    vendorCost === undefined &&
    age <= ageMaxMs &&
    age >= -aheadMs &&
    plainId.test(facts.id) &&
    lines.every(isCounted) &&
    amountOfItems(lines) <= togetherMax &&
    Number.isSafeInteger(facts.n)
  )
}

function isCounted({ index, width, height, price, quantity, source, told }: ChargeItem, place: number): boolean {
  const isReported = source === 'told' || told?.size !== undefined
  return index === place && !isReported && width === null && height === null && isCount(price) && isCount(quantity)
}

function isCount(value: number | null): boolean {
  return value !== null && Number.isSafeInteger(value) && value >= 0
}
