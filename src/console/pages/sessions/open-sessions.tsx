import { useState } from 'preact/hooks'
import { call, queryText } from '../../api/call.ts'
import { usePoll } from '../../api/poll.ts'
import { useMay } from '../../api/session.ts'
import type { LiveSession, LiveSessionList } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FilterBar, KeyFilter } from '../../kit/filter-bar.tsx'
import { Form, TextField } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Stale } from '../../kit/stale.tsx'
import { Status } from '../../kit/status.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { useQuery } from '../../query.ts'
import { t } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'

const everyMs = 5_000
const rowsMax = 200

/** Open WebSocket sessions of all gateways on the storage. */
export function OpenSessions() {
  const { query, set } = useQuery()
  const load = usePoll<LiveSessionList>(`/sessions${queryText({ key: query['key'], limit: rowsMax })}`, everyMs)
  const [ending, setEnding] = useState<LiveSession | null>(null)
  return (
    <div class="stack">
      <p class="quiet">{t('sessions.text')}</p>
      <FilterBar>
        <KeyFilter value={query['key']} onPick={key => set({ key })} />
      </FilterBar>
      <Stale of={load} />
      <Loaded of={load} shape="rows">
        {({ sessions }) =>
          sessions.length === 0 ? <Empty title={t('sessions.none')} /> : <Rows rows={sessions} onEnd={setEnding} />
        }
      </Loaded>
      {ending && (
        <EndSession
          of={ending}
          onDone={() => {
            setEnding(null)
            load.reload()
            say(t('sessions.end.done'))
          }}
          onClose={() => setEnding(null)}
        />
      )}
    </div>
  )
}

function Rows({
  rows,
  onEnd,
}: {
  readonly rows: readonly LiveSession[]
  readonly onEnd: (session: LiveSession) => void
}) {
  const ends = useMay('admin')
  return (
    <div class="sheet">
      <Table
        label={t('sessions.open')}
        rows={rows}
        rowKey={({ id }) => id}
        columns={[
          { head: t('sessions.opened'), cell: ({ opened }) => <Time at={opened} seconds /> },
          { head: t('user'), wide: true, cell: ({ user }) => <span class="theirs">{user}</span> },
          {
            head: t('token'),
            wide: true,
            cell: ({ key_id: id, key_name: name }) => (
              <a class="theirs" href={`/console/tokens/${encodeURIComponent(id)}`}>
                {name}
              </a>
            ),
          },
          { head: t('operation'), cell: ({ operation }) => tOperation(operation) },
          { head: t('model'), sparse: true, cell: ({ model }) => model },
          { head: t('upstream'), sparse: true, cell: ({ upstream }) => upstream },
          { head: t('sessions.gateway'), wide: true, cell: ({ gateway }) => gateway },
          {
            head: t('sessions.end'),
            sparse: true,
            cell: session =>
              session.ending ? (
                <Status name="ending" />
              ) : (
                ends && (
                  <Button aria-label={`${t('sessions.end')}${t('colon')}${session.id}`} onClick={() => onEnd(session)}>
                    {t('sessions.end')}
                  </Button>
                )
              ),
          },
        ]}
      />
    </div>
  )
}

function EndSession({
  of: { id, user },
  onDone,
  onClose,
}: {
  readonly of: LiveSession
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t('sessions.end.title')} onClose={onClose}>
      <Form
        submit={t('sessions.end.title')}
        kind="danger"
        onCancel={onClose}
        onSubmit={async values => {
          const body = { reason: values.get('reason').trim() }
          await call(`/sessions/${encodeURIComponent(id)}/end`, { method: 'POST', body })
          onDone()
        }}
      >
        <p>{t('sessions.end.text', { id, user })}</p>
        <TextField name="reason" label={t('reason')} hint={t('reason.hint')} />
      </Form>
    </Dialog>
  )
}
