import {
  amountOfItems,
  type CostSpan,
  type CompiledConfig,
  repricedId,
  type Storage,
  type WhatIf,
} from '../domain/index.ts'
import { CostSums, type RepricedCharge, repricedPages } from './what-if.ts'

export type RepriceOptions = {
  /** The author and the reason; if absent, nothing is written. */
  readonly apply?: { readonly by: string; readonly reason: string }
  /** Called after each page with the number of read charges. */
  readonly onProgress?: (charges: number) => void
}

export type RepriceReport = WhatIf & {
  /** The number of charges whose amount differs at the prices of the configuration. */
  readonly changed: number
  /** The number of these that were refunded and booked again. */
  readonly booked: number
}

/**
 * Compares the charges of a time range with the prices of a configuration and, with `apply`, books each different one
 * again. Each charge is one transaction, so that an interrupted run can be repeated. Refunded charges stay refunded.
 */
export async function repriceCharges(
  plan: CompiledConfig,
  books: Pick<Storage['books'], 'all' | 'reprice'>,
  ledger: Pick<Storage['ledger'], 'find'>,
  span: CostSpan,
  { apply, onProgress }: RepriceOptions = {},
): Promise<RepriceReport> {
  const sums = new CostSums()
  const counts = { looked: 0, changed: 0, booked: 0 }
  // The replacement of a page's last charge is on the next page.
  let own: string | undefined
  for await (const page of repricedPages(plan, books, span)) {
    for (const { charge, repriced } of page) {
      if (charge.id === own || (await isReplaced({ charge, repriced }, ledger))) continue
      counts.looked++
      sums.add(charge, repriced)
      if ('reason' in repriced || amountOfItems(repriced.lines) === charge.amount) continue
      counts.changed++
      if (!apply) continue
      own = repricedId(charge.id)
      const { rule, lines } = repriced
      if (await books.reprice({ charge, rule, lines, configRevision: plan.revision, ...apply })) counts.booked++
    }
    onProgress?.(counts.looked)
  }
  const { changed, booked } = counts
  return { ...span, currency: plan.currency, ...sums.result(), uncounted: [], changed, booked }
}

/** Whether a charge was refunded, or was free and charged later. Its replacement is compared instead. */
async function isReplaced({ charge, repriced }: RepricedCharge, ledger: Pick<Storage['ledger'], 'find'>) {
  if (charge.state !== 'settled') return false
  if (charge.amount > 0) return charge.refunded === charge.amount
  if ('reason' in repriced || amountOfItems(repriced.lines) === 0) return false
  return (await ledger.find(repricedId(charge.id))) !== undefined
}
