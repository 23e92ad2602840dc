import { useLoad } from '../api/load.ts'
import type { Model, ModelList } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { FilterBar, FindFilter } from '../kit/filter-bar.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Money } from '../kit/money.tsx'
import { Notes } from '../kit/notes.tsx'
import { Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Tag } from '../kit/tag.tsx'
import { useQuery } from '../query.ts'
import { tConditions } from '../words/condition.ts'
import { language, t, tName } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'
import { limitText } from './tokens/key-drawer.tsx'

/** A browser needs seconds for thousands of rows. */
const pageRows = 100

/** The models and their prices. */
export function Models() {
  const { query, set } = useQuery()
  const load = useLoad<ModelList>('/models')
  const find = (query['find'] ?? '').toLowerCase()
  return (
    <Page title={t('nav.models')} actions={<a href="/pricing">{t('nav.pricing')}</a>}>
      <FilterBar>
        <FindFilter label={t('models.find')} value={query['find']} isLive onPick={find => set({ find })} />
      </FilterBar>
      <Loaded of={load} shape="rows">
        {({ models }) => {
          const found = models.filter(({ name, family }) => `${name} ${family}`.toLowerCase().includes(find))
          if (found.length === 0) return <Empty title={t('models.none')} />
          const first = Math.max(
            0,
            found.findIndex(({ name }) => name === query['before']),
          )
          const rows = found.slice(first, first + pageRows)
          return (
            <>
              <div class="sheet">
                <Table label={t('nav.models')} rows={rows} rowKey={model => model.name} columns={columns()} />
              </div>
              <Pager next={found[first + pageRows]?.name ?? null} isByTime={false} />
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

function columns() {
  return [
    {
      head: t('model'),
      heading: true,
      wide: true,
      cell: (model: Model) => (
        <div class="model-name">
          <strong>{model.name}</strong> {!model.enabled && <Status name="disabled" />}
          <br />
          <span class="quiet">{model.family}</span>
        </div>
      ),
    },
    {
      head: t('operation'),
      wide: true,
      cell: (model: Model) => <Operations of={model.operations} />,
    },
    {
      head: t('price'),
      cell: (model: Model) =>
        model.free ? (
          t('free')
        ) : (
          <ul class="bare prices">
            {model.prices.map(({ unit, price, currency, per }) => (
              <li key={unit}>
                {tName('unit', unit)} <Money exact amount={price} currency={currency} per={per} />
              </li>
            ))}
            {model.overrides.flatMap(one =>
              one.prices.map(({ unit, price, currency, per }) => (
                <li key={`${unit} ${JSON.stringify(one.if)}`}>
                  {tName('unit', unit)} <Money exact amount={price} currency={currency} per={per} />{' '}
                  <span class="quiet">{tConditions(one.if)}</span>
                </li>
              )),
            )}
            {model.times.map(({ if: conditions, by }) => (
              <li key={JSON.stringify(conditions)}>{t('price.times', { by, when: tConditions(conditions) })}</li>
            ))}
          </ul>
        ),
    },
    { head: t('limits'), cell: (model: Model) => <span class="limits">{limitText(model.limits) || '–'}</span> },
    { head: t('upstream'), wide: true, cell: (model: Model) => model.upstreams.join(', ') },
    {
      head: t('models.notes'),
      wide: true,
      cell: (model: Model) =>
        model.notes[language.value].length === 0 ? (
          '–'
        ) : (
          <details>
            <summary>{t('models.notes.count', { count: model.notes[language.value].length })}</summary>
            <Notes of={model.notes} />
          </details>
        ),
    },
  ]
}

const operationsShown = 4

/** The first operations; the rest opens, because a chat model may have twenty for stored objects. */
function Operations({ of }: { readonly of: Model['operations'] }) {
  const tags = of.map(one => <Tag key={one}>{tOperation(one)}</Tag>)
  const rest = tags.slice(operationsShown)
  return (
    <div>
      <span class="tags">{tags.slice(0, operationsShown)}</span>
      {rest.length > 0 && (
        <details>
          <summary>{t('models.operations.more', { count: rest.length })}</summary>
          <span class="tags">{rest}</span>
        </details>
      )}
    </div>
  )
}
