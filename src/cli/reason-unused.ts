import type { UpstreamKeyShown } from '../index.ts'

const reasons = {
  invalid: 'refused by the vendor',
  no_credit: 'out of credit',
  limited: 'rate limited by the vendor',
  model: 'does not serve a model',
  operator: 'suspended by an operator',
} as const

/** The reason why a key is not used, and the time when it will be used again. */
export function reasonUnused({
  reason,
  code,
  note,
  since,
  until,
  resting,
}: Omit<UpstreamKeyShown, 'requests' | 'lately'>): string {
  if (reason === null)
    return resting.map(one => `not for ${one.model} until ${one.until ?? '-'} (${one.code ?? '-'})`).join('; ')
  const end =
    until === null ? '' : `, ${reason === 'invalid' || reason === 'no_credit' ? 'tried again' : 'until'} ${until}`
  return `${reasons[reason]}: ${code ?? note ?? '-'}, since ${since ?? '-'}${end}`
}
