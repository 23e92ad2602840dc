import { queryText } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { RefusedSignInList } from '../../api/shapes.ts'
import { Empty } from '../../kit/empty.tsx'
import { FilterBar, PickFilter, TextFilter } from '../../kit/filter-bar.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { Totals } from '../../kit/totals.tsx'
import { count } from '../../numbers.ts'
import { useQuery } from '../../query.ts'
import { t } from '../../words/index.ts'

const rowsMost = 100

/** Refused sign-ins: the user, the address and the count. */
export function RefusedSignIns({ since, until }: { readonly since?: string; readonly until?: string }) {
  const { query, set } = useQuery()
  const [name, remote] = [query['name'], query['remote']]
  const load = useLoad<RefusedSignInList>(
    `/audit/sign-ins${queryText({ since, until, name, remote, limit: rowsMost })}`,
  )
  return (
    <section class="section">
      <h2>{t('refused')}</h2>
      <p class="quiet">{t('refused.text')}</p>
      <FilterBar>
        <PickFilter of="user" label={t('refused.name')} value={name} isFree onPick={value => set({ name: value })} />
        <TextFilter label={t('refused.remote')} value={remote} onPick={value => set({ remote: value })} />
      </FilterBar>
      <Loaded of={load}>
        {({ rows, times, count: all }) =>
          rows.length === 0 ? (
            <Empty title={t('refused.none')} />
          ) : (
            <>
              <Totals label={t('refused.times')} of={[[t('refused.times'), count(times)]]}>
                {all > rows.length && <p class="quiet">{t('refused.more', { count: count(rows.length) })}</p>}
              </Totals>
              <div class="sheet">
                <Table
                  label={t('refused')}
                  rows={rows}
                  rowKey={row => `${row.hour} ${row.name} ${row.remote} ${row.way}`}
                  columns={[
                    { head: t('refused.last'), cell: row => <Time at={row.last} seconds /> },
                    {
                      head: t('refused.name'),
                      wide: true,
                      cell: row =>
                        row.name === null ? (
                          <span class="quiet">{t('refused.nobody')}</span>
                        ) : (
                          <a href={`/console/users${queryText({ edit: row.name })}`}>
                            <span class="theirs">{row.name}</span>
                          </a>
                        ),
                    },
                    { head: t('refused.remote'), wide: true, cell: row => row.remote ?? t('refused.others') },
                    {
                      head: t('refused.way'),
                      cell: row => (row.way === 'password' ? t('password') : (row.way ?? '–')),
                    },
                    { head: t('refused.times'), numeric: true, cell: row => count(row.times) },
                  ]}
                />
              </div>
            </>
          )
        }
      </Loaded>
    </section>
  )
}
