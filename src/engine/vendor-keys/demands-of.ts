import type { LimitRequest, VendorKey } from '../../kit/index.ts'

/** What a request asks of a key's limits. */
export function demandsOf({ id, rpm, tpm, concurrency }: VendorKey, tokens: number): readonly LimitRequest[] {
  const demand = (kind: LimitRequest['kind'], name: string, limit: number | undefined, amount: number) =>
    limit === undefined
      ? []
      : { id: `${name} vendor-key ${id}`, owner: `vendor-key ${id}`, kind, limit, amount, shadow: false }
  return [
    demand('window', 'rpm', rpm, 1),
    demand('places', 'concurrency', concurrency, 1),
    demand('window', 'tpm', tpm, Math.min(tokens, tpm ?? tokens)),
  ].flat()
}
