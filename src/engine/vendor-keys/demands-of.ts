import { type LimitRequest, placesOfKey, type VendorKey } from '../../kit/index.ts'

/** What a request asks of a key's limits. */
export function demandsOf(key: VendorKey, tokens: number): readonly LimitRequest[] {
  const { rpm, tpm, concurrency } = key
  const { id: places, owner } = placesOfKey(key)
  const demand = (kind: LimitRequest['kind'], id: string, limit: number | undefined, amount: number) =>
    limit === undefined ? [] : { id, owner, kind, limit, amount, shadow: false }
  return [
    demand('window', `rpm ${owner}`, rpm, 1),
    demand('places', places, concurrency, 1),
    demand('window', `tpm ${owner}`, tpm, Math.min(tokens, tpm ?? tokens)),
  ].flat()
}
