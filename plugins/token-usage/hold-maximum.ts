import {
  type ChargeFacts,
  type Ledger,
  type Micros,
  overdrawnValues,
  tellOverdrawn,
} from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'

export const unavailableMs = 5_000

/** Opens a charge and reserves its maximum amount. @throws Failure storage_unavailable, insufficient_quota */
export async function holdMaximum(ledger: Ledger, facts: ChargeFacts, most: Micros): Promise<void> {
  const held = await ledger.hold({ facts, hold: most, idempotency: null }).catch((cause: unknown) => {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  })
  if (held.kind === 'overdrawn')
    throw fail('insufficient_quota', tellOverdrawn(held, most, facts.currency), {
      values: overdrawnValues(held, most, facts.currency),
    })
}
