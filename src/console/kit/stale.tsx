import type { Poll } from '../api/poll.ts'
import { t } from '../words/index.ts'
import { Time } from './time.tsx'

/** While the gateway does not answer, shows since when the figures are stale; the figures stay. */
export function Stale({ of: { isStale, at } }: { readonly of: Pick<Poll<unknown>, 'isStale' | 'at'> }) {
  if (!isStale) return null
  return (
    <p class="note warn" role="status">
      {t('stale')} <Time at={at} seconds />
    </p>
  )
}
