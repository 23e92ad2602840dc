import { useSession } from '../../api/session.ts'
import { useLoad } from '../../api/load.ts'
import type { Ceilings } from '../../api/shapes.ts'
import { t } from '../../words/index.ts'
import { tBound, tBounds } from '../../words/bound.ts'

/** The user's own bounds, shown before the user reaches them. Empty if there are none. */
export function OwnCeilings() {
  const { user } = useSession()
  const { value } = useLoad<Ceilings>(`/users/${encodeURIComponent(user.name)}/ceilings`)
  if (!value) return null
  const { keys, key_bounds, budget, currency, limits, limits_per_user } = value
  const perKey = tBound('limits', { ...limits })
  const perUser = tBound('limits', { ...limits_per_user })
  const lines = [
    ...(keys.most === null ? [] : [t('ceilings.own.keys', { have: keys.have, most: keys.most })]),
    ...(budget ? [t('ceilings.own.budget', { most: tBound('budget', { ...budget, currency }) })] : []),
    ...tBounds(key_bounds, currency).map(({ name, most }) => t('ceilings.own.each', { name, most })),
    ...(perKey === '' ? [] : [t(`ceilings.own.limits.${value.limit_scope}`, { most: perKey })]),
    ...(perUser === '' ? [] : [t('ceilings.own.limits.user', { most: perUser })]),
  ]
  if (lines.length === 0) return null
  const isFull = keys.most !== null && keys.have >= keys.most
  return (
    <section class={`note ${isFull ? 'warn' : ''}`} aria-label={t('ceilings')}>
      {isFull && <p>{t('ceilings.own.full')}</p>}
      <ul class="bare">
        {lines.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  )
}
