import type { Charge, ChargeFacts, EndedCharge, Ledger, ChargeItem } from '../domain/index.ts'
import { useChargeId } from '../plugin-api/index.ts'
import type { Micros } from '../util/index.ts'

/** A ledger that reports charges as they end. */
export type WatchedLedger = {
  readonly ledger: Ledger
  /** The request has ended: forgets its charges that have not ended. */
  forget(requestId: string): void
}

/** A charge that this process has opened: the facts of its report. */
type OpenCharge = { readonly facts: ChargeFacts; readonly lines: Map<number, ChargeItem> }

/**
 * Reports each charge that ends in this process, from the calls that open and end it: a metric must not cost a read of
 * the storage, or be lost if a read fails. Charges that recovery, another process or a person ends are not reported.
 */
export function watchCharges(ledger: Ledger, onEnd: (charge: EndedCharge) => void): WatchedLedger {
  const open = new Map<string, OpenCharge>()

  /** `upstream`: the seller, if it is not the first upstream of the opening. */
  function ended(id: string, state: Charge['state'], upstream?: string): void {
    const charge = open.get(id)
    if (!charge) return
    open.delete(id)
    const facts = upstream === undefined ? charge.facts : { ...charge.facts, upstream }
    reportEnd(facts, state, [...charge.lines.values()])
  }

  function reportEnd(facts: ChargeFacts, state: Charge['state'], lines: readonly ChargeItem[]): void {
    onEnd({ ...facts, state, lines, amount: lines.reduce(addPrice, 0) })
  }

  const watched: Partial<Ledger> = {
    async hold(request) {
      const { id } = request.facts
      open.set(id, { facts: request.facts, lines: new Map() })
      const result = await ledger.hold(request)
      if (result.kind !== 'held') open.delete(id)
      return result
    },
    async line(id, line, upstream) {
      const isOurs = await ledger.line(id, line, upstream)
      const lines = open.get(id)?.lines
      if (isOurs && lines && !lines.has(line.index)) lines.set(line.index, line)
      return isOurs
    },
    async settle(settlement) {
      const isOurs = await ledger.settle(settlement)
      if (isOurs) ended(settlement.id, 'settled', settlement.upstream)
      return isOurs
    },
    post(facts, lines, delivery, vendorCost) {
      ledger.post(facts, lines, delivery, vendorCost)
      open.delete(facts.id)
      if (lines.length > 0) reportEnd(facts, 'settled', lines)
    },
    async void(id, reason, vendorCost) {
      const isOurs = await ledger.void(id, reason, vendorCost)
      if (isOurs) ended(id, 'voided')
      return isOurs
    },
    async review(id, reason, about) {
      const isOurs = await ledger.review(id, reason, about)
      if (isOurs) ended(id, 'needs_review', about?.upstream)
      return isOurs
    },
  }
  return {
    // All other methods are the ledger's, also those that are added later.
    ledger: Object.assign(Object.create(ledger) as Ledger, watched),
    forget(requestId) {
      if (open.size === 0) return
      open.delete(requestId)
      open.delete(useChargeId(requestId))
    },
  }
}

function addPrice(sum: Micros, line: ChargeItem): Micros {
  return sum + line.price
}
