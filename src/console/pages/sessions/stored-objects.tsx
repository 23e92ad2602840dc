import { useState } from 'preact/hooks'
import { storedKinds } from '../../../domain/stored-kinds.ts'
import { call, queryText } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useMay } from '../../api/session.ts'
import type { EndedObject, StoredObject, StoredObjectList } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Empty } from '../../kit/empty.tsx'
import { ChoiceFilter, FilterBar, KeyFilter } from '../../kit/filter-bar.tsx'
import { Form, TextField } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Pager } from '../../kit/pager.tsx'
import { Status } from '../../kit/status.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { bytes } from '../../numbers.ts'
import { useQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'

const rowsMax = 50

/** Objects that upstreams store for clients. */
export function StoredObjects() {
  const { query, set } = useQuery()
  const { key, kind, before } = query
  const load = useLoad<StoredObjectList>(`/objects${queryText({ key, kind, before, limit: rowsMax })}`)
  const [ending, setEnding] = useState<StoredObject | null>(null)
  return (
    <div class="stack">
      <p class="quiet">{t('objects.text')}</p>
      <FilterBar>
        <KeyFilter value={key} onPick={key => set({ key })} />
        <ChoiceFilter
          label={t('objects.kind')}
          value={kind}
          of={storedKinds.map(kind => [kind, t(`object_kind.${kind}`)] as const)}
          onPick={kind => set({ kind })}
        />
      </FilterBar>
      <Loaded of={load} shape="rows">
        {({ objects, next, key_names }) =>
          objects.length === 0 ? (
            <Empty title={t('objects.none')} />
          ) : (
            <>
              <Rows rows={objects} names={key_names} onEnd={setEnding} />
              <Pager next={next} busy={load.loading} />
            </>
          )
        }
      </Loaded>
      {ending && (
        <EndObject
          of={ending}
          onDone={({ vendor, detail }) => {
            setEnding(null)
            load.reload()
            const isLeft = vendor === 'refused' || vendor === 'unreached'
            say(t(`objects.vendor.${vendor}`, { detail: detail ?? '' }), isLeft ? 'bad' : undefined)
          }}
          onClose={() => setEnding(null)}
        />
      )}
    </div>
  )
}

function Rows({
  rows,
  names,
  onEnd,
}: {
  readonly rows: readonly StoredObject[]
  /** The names of keys, by id. */
  readonly names: StoredObjectList['key_names']
  readonly onEnd: (object: StoredObject) => void
}) {
  const ends = useMay('admin')
  return (
    <div class="sheet">
      <Table
        label={t('objects')}
        rows={rows}
        rowKey={({ key_id: key, kind, id }) => `${key}/${kind}/${id}`}
        columns={[
          { head: t('objects.created'), cell: ({ created }) => <Time at={created} /> },
          { head: t('objects.kind'), cell: ({ kind }) => tName('object_kind', kind) },
          {
            head: t('objects.id'),
            wide: true,
            cell: ({ id, request_id: request }) => (
              <a
                href={`/console/logs/${encodeURIComponent(request)}`}
                aria-label={`${id} (${t('objects.request')})`}
                title={t('objects.request')}
              >
                <code class="theirs">{id}</code>
              </a>
            ),
          },
          {
            head: t('token'),
            wide: true,
            cell: ({ key_id: id }) => (
              <a href={`/console/tokens/${encodeURIComponent(id)}`} title={id}>
                <span class="theirs">{names[id] ?? id}</span>
              </a>
            ),
          },
          { head: t('model'), cell: ({ model }) => model },
          {
            head: t('upstream'),
            cell: ({ upstream, vendor_key: key }) => (key === null ? upstream : `${upstream}/${key}`),
          },
          {
            head: t('objects.size'),
            numeric: true,
            sparse: true,
            cell: ({ bytes: size }) => (size > 0 ? bytes(size) : null),
          },
          { head: t('objects.expires'), sparse: true, cell: ({ expires }) => expires && <Time at={expires} /> },
          {
            head: t('sessions.end'),
            sparse: true,
            cell: object =>
              object.ended === null ? (
                ends && (
                  <Button aria-label={`${t('sessions.end')}${t('colon')}${object.id}`} onClick={() => onEnd(object)}>
                    {t('sessions.end')}
                  </Button>
                )
              ) : (
                <span class="inline">
                  <Status name="object_ended" /> <Time at={object.ended} />
                </span>
              ),
          },
        ]}
      />
    </div>
  )
}

function EndObject({
  of: { id, kind, key_id: key, upstream },
  onDone,
  onClose,
}: {
  readonly of: StoredObject
  readonly onDone: (ended: EndedObject) => void
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t('objects.end.title')} onClose={onClose}>
      <Form
        submit={t('objects.end.title')}
        kind="danger"
        onCancel={onClose}
        onSubmit={async values => {
          const body = { key, kind, id, reason: values.get('reason').trim(), keep: values.has('keep') }
          onDone(await call<EndedObject>('/objects/end', { method: 'POST', body }))
        }}
      >
        <p class="theirs">{t('objects.end.text', { id, upstream })}</p>
        <TextField name="reason" label={t('reason')} hint={t('reason.hint')} />
        <label class="check">
          <input type="checkbox" name="keep" />
          {t('objects.end.keep')}
        </label>
      </Form>
    </Dialog>
  )
}
