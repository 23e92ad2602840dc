import {
  amountOfItems,
  type ChargeFacts,
  type Ledger,
  type ChargeItem,
  type Log,
  type Micros,
} from '../../src/plugin-api/index.ts'

/** An estimated charge that needs a review. */
type Doubted = {
  readonly facts: ChargeFacts
  readonly lines: readonly ChargeItem[]
  readonly reason: string
  readonly delivery: 'confirmed' | 'partial'
  /** Whether a hold has already opened it. */
  readonly held: boolean
  /** The upstream's reported cost; undefined if it reports none. */
  readonly vendorCost?: Micros | undefined
}

/**
 * Leaves a charge for a review, with its estimated items: nothing is booked before an administrator decides. If
 * nothing was held for it, the estimate is held. If that cannot be written, the charge is settled or posted as
 * estimated, and the ledger writes it later. Never rejects.
 */
export async function reviewCharge(
  { ledger, log }: { readonly ledger: Ledger; readonly log: Log },
  { facts, lines, reason, delivery, held, vendorCost }: Doubted,
): Promise<void> {
  const { id } = facts
  const hold = amountOfItems(lines)
  let isOpen = held
  try {
    isOpen ||= (await ledger.hold({ facts, hold, idempotency: null })).kind === 'held'
    const written = isOpen ? await Promise.all(lines.map(line => ledger.line(id, line, facts.upstream))) : [false]
    if (written.every(Boolean) && (await ledger.review(id, reason, { hold: 'kept', lined: true, vendorCost }))) return
  } catch (cause) {
    log.error({ charge: id, err: cause }, 'a charge could not be left for review; it is charged as estimated')
  }
  // A charge with items is settled with them; a charge without items, or one that is not open, is posted with all items
  // at once.
  const isSettled =
    isOpen &&
    (await ledger.settle({ id, delivery, reason, ...(vendorCost !== undefined && { vendorCost }) }).catch(() => false))
  if (!isSettled) ledger.post(facts, lines, delivery, vendorCost)
}
