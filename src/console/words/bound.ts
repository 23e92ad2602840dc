import type { Key } from '../api/shapes.ts'
import { count } from '../numbers.ts'
import { shownExact } from '../shown-money.ts'
import { momentText } from './moment.ts'
import { boundText } from './period.ts'
import { t, tName } from './index.ts'

type Values = { readonly [name: string]: string | number | null }
type Bounds = Key['bounds']

const limitNames = ['rpm', 'tpm', 'concurrency'] as const

/** The maximum of a setting, in words; `field` and `values` as in the API's errors. */
export function tBound(field: string, values: Values): string {
  if (field === 'budget' || field === 'budget_period' || field === 'budget_resets_on')
    return boundText(amountText(values), {
      per: String(values['per'] ?? 'total'),
      resets_on: values['resets_on'] ?? null,
    })
  if (field === 'limits')
    return limitNames
      .flatMap(name => (values[name] ? [`${t(`limit.${name}`)} ≤ ${count(Number(values[name]))}`] : []))
      .join(' · ')
  if (field === 'models' || field === 'ips') return t(`bound.${field}`, { names: values['names'] ?? '' })
  if (field === 'expires') return t('bound.expires', { at: momentText(new Date(values['at'] ?? '')) })
  if (field === 'keys_max') return t('bound.keys_max', { keys: values['keys'] ?? '' })
  return tName('bound', field)
}

/** The amount with its currency, if that is known. */
function amountText({ amount, currency }: Values): string {
  return [amount === undefined || amount === null ? amount : shownExact(String(amount)), currency]
    .filter(part => part !== undefined && part !== null && part !== '')
    .join(' ')
}

/** Each bound that is set: its field, the maximum in words, and its author. Amounts are in `currency`. */
export function tBounds({ budget, limits, models, ips, expires, status }: Bounds, currency: string) {
  const bounds: readonly (readonly [field: BoundField, values: Values | undefined, by: string | undefined])[] = [
    ['budget', budget && { ...budget.to, currency }, budget?.by],
    ['limits', limits?.to, limits?.by],
    ['models', models && { names: models.to.join(', ') }, models?.by],
    ['ips', ips && { names: ips.to.join(', ') }, ips?.by],
    ['expires', expires && { at: expires.to }, expires?.by],
    ['status', status && {}, status?.by],
  ]
  return bounds.flatMap(([field, values, by = '']) =>
    values ? [{ field, name: t(boundNames[field]), most: tBound(field, values), by }] : [],
  )
}

const boundNames = {
  budget: 'tokens.budget',
  limits: 'limits',
  models: 'tokens.models',
  ips: 'tokens.ips',
  expires: 'tokens.expires',
  status: 'status',
} as const

type BoundField = keyof typeof boundNames
