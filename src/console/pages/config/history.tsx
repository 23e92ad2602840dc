import { useState } from 'preact/hooks'
import { useMay } from '../../api/session.ts'
import { call, queryText } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { ConfigTaken, Restoring, TakenDiff, TakenList } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Diff } from '../../kit/diff.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Facts } from '../../kit/facts.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Pager } from '../../kit/pager.tsx'
import { faultText } from '../../kit/problem.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { setQuery, useQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'
import { tSettingChange } from '../../words/setting-change.ts'
import type { Staged } from './edit/changes.ts'
import { useDraft } from './edit/draft.ts'
import { WhatIf } from './what-if.tsx'

const pageRows = 20
/** The maximum number of a change's lines in a list. */
const linesMax = 3

/** The configurations that took effect: the time, the author, and the changes. */
export function History() {
  const { query } = useQuery()
  const id = query['taken']
  return id === undefined ? <TakenTable /> : <Taken id={id} />
}

function TakenTable() {
  const { query, path } = useQuery()
  const load = useLoad<TakenList>(`/config/history${queryText({ before: query['before'], limit: pageRows })}`)
  return (
    <Loaded of={load}>
      {({ rows, next }) =>
        rows.length === 0 ? (
          <Empty title={t('history.none')} />
        ) : (
          <>
            <div class="sheet">
              <Table
                label={t('config.history')}
                rows={rows}
                rowKey={row => String(row.id)}
                columns={[
                  {
                    head: t('history.id'),
                    heading: true,
                    cell: row => (
                      <a
                        href={path + setQuery(query, { taken: String(row.id), before: null })}
                        aria-label={t('history.open', { id: row.id })}
                      >
                        {row.id}
                      </a>
                    ),
                  },
                  { head: t('history.at'), cell: row => <Time at={row.at} seconds /> },
                  {
                    head: t('history.by'),
                    sparse: true,
                    wide: true,
                    cell: row => row.by !== null && <span class="theirs">{row.by}</span>,
                  },
                  { head: t('history.how'), cell: row => tName('how', row.how) },
                  { head: t('history.changes'), wide: true, cell: row => <Summary of={row} /> },
                ]}
              />
            </div>
            <Pager next={next === null ? null : String(next)} busy={load.loading} />
          </>
        )
      }
    </Loaded>
  )
}

function Summary({ of: { id, changes, change_count } }: { readonly of: ConfigTaken }) {
  if (change_count === 0) return <span class="quiet">{t(id === 1 ? 'history.first' : 'history.nothing')}</span>
  const shown = changes.slice(0, linesMax)
  const left = change_count - shown.length
  return (
    <ul class="bare">
      {shown.map(change => (
        <li key={change}>
          <code class="theirs">{tSettingChange(change)}</code>
        </li>
      ))}
      {left > 0 && <li class="quiet">{t('history.more', { count: left })}</li>}
    </ul>
  )
}

/** One version: its changes line by line, and the cost of charges under it. */
function Taken({ id }: { readonly id: string }) {
  const { query, path } = useQuery()
  const load = useLoad<TakenDiff>(`/config/history/${encodeURIComponent(id)}`)
  const rates = useMay('admin')
  return (
    <div class="stack">
      <p>
        <a href={path + setQuery(query, { taken: null, range: null, from: null, to: null })}>{t('history.back')}</a>
      </p>
      <Loaded of={load}>
        {taken => (
          <div class="stack">
            <Facts
              of={[
                [t('history.id'), taken.id],
                [t('history.at'), <Time at={taken.at} seconds />],
                [t('history.by'), taken.by === null ? '–' : <span class="theirs">{taken.by}</span>],
                [t('history.how'), tName('how', taken.how)],
                [t('details.revision'), <code>{taken.revision}</code>],
                [t('history.version'), taken.version],
              ]}
            />
            {rates && <Restore id={taken.id} />}
            <section class="section" aria-label={t('history.changes')}>
              <h2>{t('history.changes')}</h2>
              <Meaning of={taken} />
            </section>
            <section class="section" aria-label={t('history.lines')}>
              <h2>{t('history.lines')}</h2>
              <p class="quiet">{t('history.covered')}</p>
              <Lines of={taken} />
            </section>
            {rates && <WhatIf of={{ taken: taken.id }} />}
          </div>
        )}
      </Loaded>
    </div>
  )
}

/** Stages the changes that restore a version. The review shows and checks them like other changes. */
function Restore({ id }: { readonly id: number }) {
  const { path, route } = useQuery()
  const { changes, stageAll } = useDraft()
  const [restoring, setRestoring] = useState<Restoring | null>(null)
  const review = () => route(`${path}?tab=edit&review=1`)
  const restore = async () => {
    try {
      const found = await call<Restoring>(`/config/history/${id}/edits`)
      stageAll(found.edits as unknown as readonly Staged[])
      if (found.left.length > 0 || found.edits.length === 0) setRestoring(found)
      else review()
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <section class="section" aria-label={t('history.restore')}>
      <h2>{t('history.restore')}</h2>
      <p class="quiet">{t('history.restore.text')}</p>
      {restoring?.edits.length === 0 && <p class="note">{t('history.restore.none')}</p>}
      {restoring && restoring.left.length > 0 && (
        <div class="note warn">
          <p>{t('history.restore.left')}</p>
          <ul class="notes-list">
            {restoring.left.map(change => (
              <li key={change}>
                <code class="theirs">{tSettingChange(change)}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      <div class="actions">
        {restoring === null && <Button onClick={restore}>{t('history.restore')}</Button>}
        {restoring && restoring.edits.length > 0 && changes.length > 0 && (
          <Button kind="primary" onClick={review}>
            {t('edit.propose')}
          </Button>
        )}
      </div>
    </section>
  )
}

function Meaning({ of: { against, changes } }: { readonly of: TakenDiff }) {
  if (changes.length === 0) return <p>{t(against === null ? 'history.first' : 'history.nothing')}</p>
  return (
    <ul class="notes-list">
      {changes.map(change => (
        <li key={change}>
          <code class="theirs">{tSettingChange(change)}</code>
        </li>
      ))}
    </ul>
  )
}

function Lines({ of: { files } }: { readonly of: TakenDiff }) {
  const lost = files.filter(({ kept }) => !kept)
  if (files.length === 0) return <p>{t('history.same')}</p>
  return (
    <>
      <Diff of={files.filter(({ kept }) => kept)} />
      {lost.map(({ file }) => (
        <p key={file} class="note warn">
          {t('history.too_long', { file })}
        </p>
      ))}
    </>
  )
}
