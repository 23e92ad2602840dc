import { amountOfItems, type ChargeItem } from '../../domain/charge.ts'
import type { Posting } from '../ledger/posting.ts'
import { ageMaxMs, aheadMs, begunAt } from './reach.ts'

/** A thousand million of the currency: as much as one charge may come to. */
export const totalMax = 1e15
/** Ten million of it: all of a group together are still counted exactly. */
const togetherMax = 1e13
const plainId = /^req_[0-9a-z]+(?:\.u)?$/

/**
 * A charge that a segment can hold: of things that are counted, without a vendor cost, for a request that began not long ago.
 * All others have rows of their own, which say what is wrong with them too.
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
  const isTold = source === 'told' || told?.size !== undefined
  return index === place && !isTold && width === null && height === null && isCount(price) && isCount(quantity)
}

function isCount(value: number | null): boolean {
  return value !== null && Number.isSafeInteger(value) && value >= 0
}
