import type { PriceConditions } from '../../domain/usage.ts'
import { count } from '../numbers.ts'
import { t } from './index.ts'

/** `more than 200,000 input tokens, service tier priority`. */
export function tConditions(conditions: PriceConditions): string {
  const { zone, ...others } = conditions
  const texts = Object.entries(others).map(([name, wanted]) =>
    t(`price.if.${name as keyof typeof others}`, {
      wanted: typeof wanted === 'number' ? count(wanted) : [wanted].flat().join(t('price.if.or')),
    }),
  )
  return [...texts, ...(zone === undefined ? [] : [t('price.if.zone', { wanted: zone })])].join(t('price.if.and'))
}
