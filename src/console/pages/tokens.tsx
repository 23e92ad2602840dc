import { useRoute } from 'preact-iso'
import { useState } from 'preact/hooks'
import { useLoad } from '../api/load.ts'
import { useMay } from '../api/session.ts'
import type { Key, KeyList, KeyTotals, KeyWithSecret } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { FilterBar, FindFilter, PickFilter } from '../kit/filter-bar.tsx'
import { Kept, Loaded } from '../kit/loaded.tsx'
import { Meter } from '../kit/meter.tsx'
import { Money, moneyColumn } from '../kit/money.tsx'
import { Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Status } from '../kit/status.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { Totals } from '../kit/totals.tsx'
import { microsOf } from '../money.ts'
import { count } from '../numbers.ts'
import { queryText } from '../api/call.ts'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { CreateKey } from './tokens/create-key.tsx'
import { KeyDrawer } from './tokens/key-drawer.tsx'
import { keyStatus } from './tokens/key-status.ts'
import { OwnCeilings } from './tokens/own-ceilings.tsx'
import { ShownOnce } from './tokens/shown-once.tsx'

const pageRows = 50

/** The API keys of clients. */
export function Tokens() {
  const { query, set, route } = useQuery()
  const { params } = useRoute()
  const readsAll = useMay('readers')
  const makes = useMay('keys')
  const load = useLoad<KeyList>(
    `/keys${queryText({ limit: pageRows, before: query['before'], user: query['user'], search: query['find'] })}`,
  )
  const totals = useLoad<KeyTotals>(`/keys/totals${queryText({ user: query['user'] })}`)
  const id = params['id']
  // Creating, revoking or disabling keys may change the number that a user may still create.
  const [turn, setTurn] = useState(0)
  const changed = () => {
    setTurn(last => last + 1)
    load.reload()
    totals.reload()
  }
  // A new secret is shown even if the dialog was closed before it arrived.
  const [made, setMade] = useState<KeyWithSecret | null>(null)
  const show = (one: KeyWithSecret) => {
    setMade(one)
    changed()
  }
  const list = `/console/tokens${setQuery(query, { new: null })}`
  return (
    <Page
      title={t('nav.tokens')}
      actions={
        makes && (
          <Button kind="primary" icon="plus" onClick={() => set({ new: '1', before: query['before'] })}>
            {t('tokens.create')}
          </Button>
        )
      }
    >
      <Kept of={totals}>
        {({ keys, active, spent, held, currency }) =>
          keys > 0 && (
            <Totals
              of={[
                [t('keys'), count(keys)],
                [t('status.active'), count(active)],
                [t('tokens.spent'), <Money amount={spent} currency={currency} />],
                [t('tokens.held'), <Money amount={held} currency={currency} />],
              ]}
            />
          )
        }
      </Kept>
      {makes && !readsAll && <OwnCeilings key={turn} />}
      <Find query={query} set={set} readsAll={readsAll} />
      <Loaded of={load} shape="rows">
        {({ keys, next }) =>
          keys.length === 0 ? (
            query['find'] ? (
              <Empty title={t('tokens.none.found')} />
            ) : (
              <Empty title={t('tokens.none')}>{makes && <p class="quiet">{t('tokens.none.text')}</p>}</Empty>
            )
          ) : (
            <>
              <div class="sheet">
                <Table
                  label={t('keys')}
                  columns={columns(readsAll, setQuery(query, { new: null }), keys)}
                  rows={keys}
                  rowKey={key => key.id}
                  opens
                />
              </div>
              <Pager next={next} busy={load.loading} />
            </>
          )
        }
      </Loaded>
      {makes && query['new'] && <CreateKey onMade={show} onClose={() => route(list, true)} />}
      {id && <KeyDrawer key={id} id={id} onChanged={changed} onMade={show} onClose={() => route(list)} />}
      {made && <ShownOnce made={made} onClose={() => setMade(null)} />}
    </Page>
  )
}

/** A part of a key's name, and the owner of the key. */
function Find({
  query,
  set,
  readsAll,
}: {
  readonly query: { readonly [name: string]: string | undefined }
  readonly set: (change: { readonly [name: string]: string | null }) => void
  readonly readsAll: boolean
}) {
  const { user, find } = query
  return (
    <FilterBar>
      <FindFilter label={t('tokens.find')} value={find} onPick={value => set({ find: value })} />
      {readsAll && (
        <PickFilter of="user" label={t('user')} value={user} isFree onPick={value => set({ user: value })} />
      )}
    </FilterBar>
  )
}

function columns(readsAll: boolean, query: string, rows: readonly Key[]): readonly Column<Key>[] {
  return [
    {
      head: t('tokens.name'),
      heading: true,
      wide: true,
      cell: key => (
        <div>
          <a class="theirs" href={`/console/tokens/${encodeURIComponent(key.id)}${query}`}>
            {key.name}
          </a>
          <br />
          <code class="quiet">{key.hint}</code>
        </div>
      ),
    },
    readsAll
      ? {
          head: t('user'),
          wide: true,
          cell: key => (
            <div>
              <span class="theirs">{key.user}</span>
              <br />
              <span class="quiet">
                {t('group')} {key.group}
              </span>
            </div>
          ),
        }
      : { head: t('group'), cell: key => key.group },
    { head: t('tokens.models'), wide: true, cell: key => key.models?.join(', ') ?? t('all') },
    {
      head: t('tokens.budget'),
      numeric: true,
      cell: key =>
        key.budget === null ? (
          t('unlimited')
        ) : (
          <div class="metered">
            <Meter
              whole={microsOf(key.budget)}
              used={microsOf(key.budget_used)}
              held={microsOf(key.held)}
              forecast={null}
              {...(keyStatus(key) === 'budget_spent' && { tone: 'bad' as const })}
            />
            <span>
              <Money amount={key.budget_used} /> / <Money amount={key.budget} currency={key.currency} />
            </span>
          </div>
        ),
    },
    moneyColumn<Key>({
      head: t('tokens.spent'),
      rows,
      amount: key => key.spent,
      currency: key => key.currency,
      isFixed: true,
    }),
    { head: t('tokens.last'), cell: key => <Time at={key.last_used} /> },
    { head: t('tokens.expires'), cell: key => (key.expires ? <Time at={key.expires} /> : t('never')) },
    { head: t('status'), cell: key => <Status name={keyStatus(key)} /> },
  ]
}
