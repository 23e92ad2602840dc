import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { units } from '../../../domain/usage.ts'
import { useLoad } from '../../api/load.ts'
import { useSession } from '../../api/session.ts'
import type { Editable, Written } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Facts } from '../../kit/facts.tsx'
import { FilterBar, FindFilter } from '../../kit/filter-bar.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Status } from '../../kit/status.tsx'
import { Table } from '../../kit/table.tsx'
import { shortCount } from '../../numbers.ts'
import { setQuery, useQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'
import { type Path, pathText, type Staged, type Value, valueAt, valueText } from './edit/changes.ts'
import { useDraft } from './edit/draft.ts'
import { BeforeAfter, EntryForm } from './edit/entry-form.tsx'
import type { Entry, Section } from './edit/fields.ts'
import { NewModel } from './edit/new-model.tsx'
import { Place } from './edit/place.tsx'
import { Review } from './edit/review.tsx'
import { changesMax } from './edit/try-changes.ts'
import type { ConfigViewProps } from './view.ts'

/** The address without the parameters of the review. */
const unreviewed = { review: null, range: null, from: null, to: null } as const

/**
 * Changes of models, prices and groups: collected first, then reviewed, and only then written, or downloaded as a
 * patch. The address has the open entry and whether the changes are under review.
 */
export function Edit({ of: { file: main }, onChanged }: ConfigViewProps) {
  const { query, set, path, route } = useQuery()
  const load = useLoad<Editable>('/config/editable')
  const draft = useDraft()
  const [written, setWritten] = useState<Written | null>(null)
  const reviews = query['review'] !== undefined && draft.changes.length > 0
  useEffect(() => {
    // The review has ended: the next change must not open it again.
    if (query['review'] !== undefined && draft.changes.length === 0) set(unreviewed)
  }, [draft.changes.length])
  if (written)
    return (
      <Done
        of={written}
        onClose={() => {
          setWritten(null)
          load.reload()
        }}
      />
    )
  if (reviews)
    return (
      <div class="stack">
        <p>
          <a href={path + setQuery(query, unreviewed)}>{t('edit.back')}</a>
        </p>
        <Gathered onReview={null} />
        <Review
          changes={draft.changes}
          onWritten={one => {
            draft.clear()
            setWritten(one)
            set(unreviewed)
            onChanged()
          }}
        />
      </div>
    )
  const close = () => set({ model: null, group: null, new: null })
  return (
    <Loaded of={load}>
      {editable => {
        const model = editable.models.find(({ name }) => name === query['model'])
        const group = editable.groups.find(({ name }) => name === query['group'])
        return (
          <div class="stack">
            <p class="quiet">{t('edit.text')}</p>
            {!editable.writable && <p class="quiet">{tName('edit.why_not', editable.why_not ?? 'off')}</p>}
            <Gathered onReview={() => route(path + setQuery(query, { review: '1', find: null }))} />
            <Entries
              section="models"
              of={editable.models}
              main={main}
              action={
                <Button icon="plus" onClick={() => set({ new: '1' })}>
                  {t('edit.new')}
                </Button>
              }
            />
            <Entries section="groups" of={editable.groups} main={main} />
            {model && (
              <EntryForm
                key={`models ${model.name}`}
                section="models"
                entry={model}
                main={main}
                editable={editable}
                onClose={close}
              />
            )}
            {!model && group && (
              <EntryForm
                key={`groups ${group.name}`}
                section="groups"
                entry={group}
                main={main}
                editable={editable}
                onClose={close}
              />
            )}
            {!model && !group && query['new'] && <NewModel editable={editable} onClose={close} />}
          </div>
        )
      }}
    </Loaded>
  )
}

/** The collected changes, each with a button to remove it. */
function Gathered({ onReview }: { readonly onReview: (() => void) | null }) {
  const { changes, drop, clear } = useDraft()
  if (changes.length === 0) return null
  return (
    <section class="card" aria-label={t('edit.gathered')}>
      <h2>{t('edit.gathered')}</h2>
      <ul class="bare notes staged">
        {changes.map(one => (
          <li key={pathText(one.path)} class="inline">
            <code class="theirs">{pathText(one.path)}</code>
            {one.value === undefined && <Status name="taken_out" tone="warn" />}
            <BeforeAfter was={one.was} value={one.value} />
            <Button
              kind="quiet"
              icon="close"
              aria-label={t('edit.drop', { path: pathText(one.path) })}
              title={t('edit.drop', { path: pathText(one.path) })}
              onClick={() => drop(one)}
            />
          </li>
        ))}
      </ul>
      {changes.length > changesMax && <p class="note warn">{t('edit.too_many', { most: changesMax })}</p>}
      {onReview && (
        <div class="form-end">
          <Button onClick={clear}>{t('edit.clear')}</Button>
          <Button kind="primary" disabled={changes.length > changesMax} onClick={onReview}>
            {t('edit.propose')}
          </Button>
        </div>
      )}
    </section>
  )
}

/** Entries beyond this number are found by name. */
const shownEntries = 100

function Entries({
  section,
  of,
  main,
  action,
}: {
  readonly section: Section
  readonly of: readonly Entry[]
  readonly main: string
  readonly action?: ComponentChildren
}) {
  const { query, set, path } = useQuery()
  const { changes } = useDraft()
  const { gateway } = useSession()
  const find = (query['find'] ?? '').toLowerCase()
  const isModels = section === 'models'
  const found = isModels ? of.filter(({ name }) => name.toLowerCase().includes(find)) : of
  const rows = found.slice(0, shownEntries)
  const member = isModels ? 'model' : 'group'
  return (
    <section class="section">
      <header class="page-head">
        <h2>{t(isModels ? 'nav.models' : 'groups')}</h2>
        {action}
      </header>
      {isModels && of.length > 10 && (
        <FilterBar>
          <FindFilter label={t('models.find')} value={query['find']} isLive onPick={find => set({ find })} />
        </FilterBar>
      )}
      <div class="sheet">
        <Table
          label={t(isModels ? 'nav.models' : 'groups')}
          rows={rows}
          rowKey={({ name }) => name}
          columns={[
            {
              head: t(member),
              heading: true,
              wide: true,
              cell: ({ name }) => (
                <span class="inline">
                  <a class="theirs" href={path + setQuery(query, { model: null, group: null, [member]: name })}>
                    {name}
                  </a>
                  {isTouched([section, name], changes) && <span class="tag accent">{t('edit.touched')}</span>}
                </span>
              ),
            },
            ...(isModels
              ? [
                  {
                    head: `${t('price')} (${gateway.currency})`,
                    wide: true,
                    cell: ({ whole }: Entry) => <Prices of={whole as Value} />,
                  },
                  { head: t('upstream'), wide: true, cell: ({ whole }: Entry) => servedBy(whole as Value) },
                ]
              : [
                  {
                    head: t('groups.multiplier'),
                    numeric: true,
                    cell: ({ whole }: Entry) => valueText(valueAt(whole as Value, ['multiplier']) ?? '1'),
                  },
                ]),
            {
              head: t('edit.place'),
              place: true,
              cell: one => <Place of={one} main={main} />,
            },
          ]}
        />
      </div>
      {found.length > rows.length && <p class="quiet">{t('edit.more', { count: found.length - rows.length })}</p>}
    </section>
  )
}

function isTouched(entry: Path, changes: readonly Staged[]): boolean {
  return changes.some(({ path }) => entry.every((step, i) => path[i] === step))
}

function Prices({ of }: { readonly of: Value }) {
  const prices = valueAt(of, ['prices'])
  if (valueAt(of, ['price']) === 'free') return <>{t('free')}</>
  if (prices === undefined || prices === null || typeof prices !== 'object') return <>–</>
  return (
    <ul class="bare">
      {Object.entries(prices).map(([unit, price]) => (
        <li key={unit}>
          {unit === 'from' ? t('edit.price.from') : tName('unit', unit)} <span class="theirs">{valueText(price)}</span>
          <Per of={unit} />
        </li>
      ))}
    </ul>
  )
}

/** The number of units that a price is for, if it is for more than one. */
function Per({ of }: { readonly of: string }) {
  const { per = 1 } = units.get(of) ?? {}
  return per > 1 ? <span class="quiet"> / {shortCount(per)}</span> : null
}

function servedBy(whole: Value): string {
  const several = valueAt(whole, ['upstreams'])
  if (Array.isArray(several))
    return (several as readonly Value[]).map(one => valueText(valueAt(one, ['upstream']))).join(', ')
  return valueText(valueAt(whole, ['upstream']) ?? valueAt(whole, ['routes']))
}

/** The written changes, the path of the previous file, and the configuration now in use. */
function Done({ of, onClose }: { readonly of: Written; readonly onClose: () => void }) {
  return (
    <section class="card" role="status">
      <h2>{t('edit.written')}</h2>
      <p>{t(of.revision === null ? 'edit.written.elsewhere' : 'edit.written.text')}</p>
      {of.outdated.length > 0 && (
        <div class="note warn">
          <p>{t(of.refusals.length > 0 ? 'edit.outdated.refused' : 'edit.outdated')}</p>
          <Paths of={of.outdated.map(({ host, revision }) => `${host} (${revision})`)} />
          <Paths of={of.refusals} />
        </div>
      )}
      <Facts
        of={[
          [t('edit.files'), <Paths of={of.files} />],
          [t('edit.backups'), <Paths of={of.backups} />],
          [t('details.revision'), of.revision === null ? '–' : <code>{of.revision}</code>],
          [t('edit.meaning'), <Paths of={of.changes} />],
        ]}
      />
      <div class="form-end">
        <Button kind="primary" onClick={onClose}>
          {t('edit.back')}
        </Button>
      </div>
    </section>
  )
}

function Paths({ of }: { readonly of: readonly string[] }) {
  return (
    <ul class="bare">
      {of.map(one => (
        <li key={one}>
          <code class="theirs">{one}</code>
        </li>
      ))}
    </ul>
  )
}
