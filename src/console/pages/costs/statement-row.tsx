import { useState } from 'preact/hooks'
import { queryText } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { Statement } from '../../api/shapes.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { t } from '../../words/index.ts'
import { monthText } from '../../words/moment.ts'
import { Reconciliation } from '../statements/reconciliation.tsx'
import type { Where } from './where.ts'

/** Leads from the costs to the statement of the same month. It reads the whole ledger, so only when it is opened. */
export function StatementRow({
  month,
  zone,
  where: { user, group },
  currency,
}: {
  readonly month: string
  readonly zone: string
  readonly where: Where
  readonly currency: string
}) {
  const [isOpen, setOpen] = useState(false)
  const query = queryText({ month, zone, user, group })
  const load = useLoad<Statement>(isOpen ? `/statements${query}` : null)
  return (
    <details class="card" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{t('costs.statement', { month: monthText(month) })}</summary>
      {isOpen && (
        <Loaded of={load}>
          {({ totals }) => {
            const total = totals.find(one => one.currency === currency)
            return (
              <>
                {total && <Reconciliation of={total} name={t('nav.costs')} />}
                <p>
                  <a href={`/console/statements${queryText({ month, user, group })}`}>{t('nav.statements')}</a>
                </p>
              </>
            )
          }}
        </Loaded>
      )}
    </details>
  )
}
