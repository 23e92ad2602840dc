import { queryText } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { CostsAnswer, LogList, LogRecord } from '../../api/shapes.ts'
import { ChargesOf } from '../../kit/charged.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { t } from '../../words/index.ts'
import { reasonsOf } from '../../words/why.ts'
import type { Where } from './where.ts'

const shown = 10
const reasonsShown = 3

/** The newest requests of the filter, each with the reason for its cost. */
export function Requests({
  answer,
  where,
  readsAll,
}: {
  readonly answer: CostsAnswer
  readonly where: Where
  readonly readsAll: boolean
}) {
  const narrowed = filterOf(answer, where)
  const filter = { since: answer.since, until: answer.until, ...narrowed, charge: 'settled' }
  const load = useLoad<LogList>(`/logs${queryText({ ...filter, limit: shown })}`)
  const log = `/console/logs${queryText(filter)}`
  return (
    <section class="section" aria-label={t('requests')}>
      <header class="page-head">
        <h2>{t('costs.requests')}</h2>
        <a href={log} title={t('costs.log.when')}>
          {t('costs.log')}
        </a>
      </header>
      <Loaded of={load} shape="rows">
        {({ records }) =>
          records.length === 0 ? (
            <p class="quiet">{t('costs.unlogged')}</p>
          ) : (
            <div class="sheet">
              <Table
                label={t('costs.requests')}
                rows={records}
                rowKey={record => record.id}
                opens
                columns={[
                  {
                    head: t('time'),
                    cell: record => (
                      <a href={`/console/logs/${encodeURIComponent(record.id)}${queryText(filter)}`}>
                        <Time at={record.time} seconds />
                      </a>
                    ),
                  },
                  { head: t('model'), wide: true, cell: record => <span class="theirs">{record.model ?? '–'}</span> },
                  ...(readsAll && where.user === undefined
                    ? [
                        {
                          head: t('user'),
                          wide: true,
                          cell: (record: LogRecord) => <span class="theirs">{record.user ?? '–'}</span>,
                        },
                      ]
                    : []),
                  { head: t('bill.why'), wide: true, cell: record => <Reasons of={record} /> },
                  {
                    head: t('amount'),
                    numeric: true,
                    cell: record => <ChargesOf of={record} />,
                  },
                ]}
              />
            </div>
          )
        }
      </Loaded>
    </section>
  )
}

/** The filter in the log's parameters, where only images have tiers, and counts have units. */
function filterOf({ totals }: CostsAnswer, { tier, ...where }: Where): { readonly [name: string]: string } {
  if (tier === undefined) return where
  const isOfImages = totals.some(({ images }) => images > 0)
  return { ...where, [isOfImages ? 'tier' : 'unit']: tier }
}

function Reasons({ of: { billing } }: { readonly of: LogRecord }) {
  if (!billing) return <>–</>
  const reasons = reasonsOf(billing)
  return (
    <ul class="bare">
      {reasons.slice(0, reasonsShown).map(([reason, times]) => (
        <li key={reason} class="theirs">
          {times > 1 && `${times} × `}
          {reason}
        </li>
      ))}
      {reasons.length > reasonsShown && (
        <li class="quiet">{t('costs.reasons.more', { count: reasons.length - reasonsShown })}</li>
      )}
    </ul>
  )
}
