import { type LimitRequest, slotsOfKey, type VendorKey } from '../../domain/index.ts'
import type { TokenUse } from '../../plugin-api/index.ts'

/** What a request reserves from a key's limits. Its tokens are estimated only if they are limited. */
export function demandsOf(key: VendorKey, tokens: TokenUse | undefined): readonly LimitRequest[] {
  const { rpm, tpm, concurrency } = key
  if (rpm === undefined && tpm === undefined && concurrency === undefined) return []
  const { id: places, owner } = slotsOfKey(key)
  const demand = (kind: LimitRequest['kind'], id: string, limit: number | undefined, amount: number) =>
    limit === undefined ? [] : { id, owner, kind, limit, amount, shadow: false }
  return [
    demand('window', `rpm ${owner}`, rpm, 1),
    demand('places', places, concurrency, 1),
    demand('window', `tpm ${owner}`, tpm, tpm === undefined ? 0 : Math.min(tokens?.estimate ?? 0, tpm)),
  ].flat()
}
