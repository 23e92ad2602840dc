import type { UpstreamKeyShown } from '../index.ts'

const reasons = {
  invalid: 'refused by the vendor',
  no_credit: 'nothing is left to pay with',
  limited: 'limited by the vendor',
  model: 'refused a model',
  operator: 'suspended by a person',
} as const

/** Why a key is not used, and when it will be. */
export function whyNotAsked({
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
