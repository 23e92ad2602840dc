import type { HoldResult } from './stores.ts'
import { formatMoney, type Micros } from './units.ts'

/** What a caller is told whose key's budget cannot bear a hold: the words of `insufficient_quota`. */
export function tellOverdrawn(
  { availableMicros, heldMicros, renewsAt }: Extract<HoldResult, { kind: 'overdrawn' }>,
  hold: Micros,
  currency: string,
) {
  const renewal = renewsAt === null ? '' : `; it begins anew at ${new Date(renewsAt).toISOString()}`
  const held =
    heldMicros === 0
      ? ''
      : ` (${formatMoney(heldMicros)} ${currency} is held for requests under way or charges that need review)`
  return { hold: formatMoney(hold), available: formatMoney(availableMicros), held, currency, renewal }
}
