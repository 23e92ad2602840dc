import { type Charge, type ChargeItem, type Ledger, type Log, type Micros } from '../../../src/plugin-api/index.ts'
import { fail } from '../errors.ts'
import { reviewCharge } from '../review-charge.ts'

/** The priced usage of deferred work. */
export type RatedWork = {
  readonly lines: readonly ChargeItem[]
  readonly reason: string
  readonly vendorCost?: Micros | undefined
  /** Whether the charge needs a review. */
  readonly waits: boolean
}

/**
 * Ends the charge of deferred work, once: existing items stay unchanged, and a charge that has ended stays ended.
 * @throws Failure use_not_recorded; the job then continues and ends the charge later
 */
export async function endCharge(
  tools: { readonly ledger: Ledger; readonly log: Log },
  charge: Charge,
  { lines, reason, vendorCost, waits }: RatedWork,
): Promise<void> {
  const { ledger } = tools
  const { id, upstream } = charge
  if (waits) return reviewCharge(tools, { facts: charge, lines, reason, delivery: 'confirmed', held: true, vendorCost })
  try {
    if (lines.length === 0) {
      await ledger.void(id, reason)
      return
    }
    const written = await Promise.all(lines.map(line => ledger.line(id, line, upstream)))
    const cost = vendorCost === undefined ? {} : { vendorCost }
    if (written.every(Boolean) && (await ledger.settle({ id, delivery: 'confirmed', reason: null, ...cost }))) return
  } catch (cause) {
    throw fail('use_not_recorded', { charge: id }, { cause })
  }
  // Another process or an administrator may have ended the charge meanwhile.
  if ((await ledger.find(id))?.state === 'reserved') throw fail('use_not_recorded', { charge: id })
}
