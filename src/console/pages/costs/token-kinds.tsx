import { useLoad } from '../../api/load.ts'
import { queryText } from '../../api/query-text.ts'
import type { CostsAnswer } from '../../api/shapes.ts'
import { count } from '../../numbers.ts'
import { tName } from '../../words/index.ts'
import { addDays, dateIn } from '../../zone.ts'
import { units } from '../../../domain/usage.ts'
import type { Where } from './where.ts'

/** The tokens in the costs by kind: input, cached, output. Loaded after the rest of the page. */
export function TokenKinds({
  answer: { since, until, zone },
  where,
  currency,
}: {
  readonly answer: CostsAnswer
  readonly where: Where
  readonly currency: string
}) {
  const span = { from: dateIn(zone, new Date(since)), to: addDays(dateIn(zone, new Date(until)), -1) }
  const load = useLoad<CostsAnswer>(`/costs${queryText({ ...span, zone, step: 'month', by: 'tier', ...where })}`)
  const counts = new Map<string, number>()
  for (const row of load.value?.rows ?? [])
    if (row.what !== null && row.currency === currency && row.tokens > 0 && units.has(row.what))
      counts.set(row.what, (counts.get(row.what) ?? 0) + row.tokens)
  return (
    <p class="quiet token-kinds">
      {[...counts]
        .sort(([, a], [, b]) => b - a)
        .map(([unit, tokens]) => `${tName('unit', unit)} ${count(tokens)}`)
        .join(' · ') || '\u00a0'}
    </p>
  )
}
