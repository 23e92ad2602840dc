import { useId } from 'preact/hooks'
import { logResults } from '../../../domain/log-result.ts'
import { useModels } from '../../api/models.ts'
import { useKeyPicks, useModelPicks, useUserPicks } from '../../api/pickers.ts'
import { Chip } from '../../kit/chip.tsx'
import { Choices } from '../../kit/choices.tsx'
import { Combobox, type Option } from '../../kit/combobox.tsx'
import { ChoiceFilter, FilterBar, PickFilter, SearchFilter, TextFilter } from '../../kit/filter-bar.tsx'
import { FilterChoice, FilterLine } from '../../kit/filter-line.tsx'
import { setQuery } from '../../query.ts'
import { t, tName } from '../../words/index.ts'
import { momentText } from '../../words/moment.ts'
import { tOperation } from '../../words/operation.ts'
import { localMoment, logRanges, rangeNamed } from './log-range.ts'
import { label, sources, sourceText } from './labels.ts'
import { type FilterName, filterNames, noFilters } from './read-filter.ts'
import { tiersOf, unitsOf } from './tiers.ts'

type Query = { readonly [name: string]: string | undefined }
type Change = { readonly [name: string]: string | null }

type LogFiltersProps = {
  readonly query: Query
  readonly set: (change: Change) => void
  /** Whether the user sees other users' requests. */
  readonly readsAll: boolean
  /** The known names of keys, by id. */
  readonly keyNames: { readonly [id: string]: string }
}

/** Suggested values; the user can type any other status. */
const statuses = ['2xx', '4xx', '5xx', '400', '401', '402', '403', '404', '413', '429', '500', '502', '504'] as const
const outcomes = ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const
const states = ['reserved', 'settled', 'voided', 'needs_review'] as const

/** Filters with a chip even without a value; others are under `More`. */
const usual: ReadonlySet<string> = new Set(['since', 'until', 'result', 'status', 'model', 'user', 'key'])

/** The filters of the log on one line: a search, ranges of days, and a chip for each filter. */
export function LogFilters(props: LogFiltersProps) {
  const { query, set, readsAll, keyNames } = props
  const more = filterNames.filter(name => !usual.has(name) && query[name])
  const isUsed = query['range'] !== undefined || filterNames.some(name => query[name])
  const of = (name: FilterName, label: string) => ({
    label,
    value: query[name],
    onPick: (value: string) => set({ [name]: value === '' ? null : value }),
  })
  const { key } = query
  return (
    <FilterBar onClear={isUsed && (() => set(noFilters))}>
      <Find set={set} />
      <Choices
        label={t('costs.range')}
        of={logRanges.map(one => [one, t(`costs.${one}`)] as const)}
        chosen={rangeNamed(query['range']) ?? null}
        hrefOf={value => {
          const range = query['range'] === value ? null : value
          return `/console/logs${setQuery(query, { range, since: null, until: null, before: null })}`
        }}
      />
      <Span query={query} set={set} />
      <ChoiceFilter
        {...of('result', t('result'))}
        of={['unsuccessful', ...logResults].map(one => [one, tName('result', one)] as const)}
      />
      <SearchFilter
        {...of('status', t('status'))}
        hint={t('filter.status')}
        options={statuses.map(one => ({ value: one, text: one }))}
        isFree
      />
      <PickFilter of="model" {...of('model', t('model'))} isFree />
      {readsAll && <PickFilter of="user" {...of('user', t('user'))} isFree />}
      <PickFilter of="key" {...of('key', t('token'))} text={key && (keyNames[key] ?? key)} />
      {more.map(name => (
        <MoreFilter key={name} {...of(name, labelOf(name))} of={name} />
      ))}
      <Chip label={t('filter.more')}>
        {() => (
          <div class="filters">
            {filterNames
              .filter(name => !usual.has(name) && (name !== 'outcome' || query[name]))
              .map(name => (
                <Field key={name} {...of(name, labelOf(name))} of={name} />
              ))}
          </div>
        )}
      </Chip>
    </FilterBar>
  )
}

/** The time between two moments, for times without a named range. */
function Span({ query, set }: Pick<LogFiltersProps, 'query' | 'set'>) {
  const { since, until } = query
  const text = (moment: string | undefined) =>
    moment === undefined || localMoment(moment) === '' ? '…' : momentText(new Date(moment))
  const field = (name: 'since' | 'until', word: string) => (
    <FilterLine
      label={word}
      type="datetime-local"
      value={localMoment(query[name])}
      onPick={value => set({ range: null, [name]: value === '' ? null : new Date(value).toISOString() })}
    />
  )
  const isUsed = since !== undefined || until !== undefined
  return (
    <Chip
      label={t('filter.span')}
      {...(isUsed && { value: `${text(since)} – ${text(until)}`, onClear: () => set({ since: null, until: null }) })}
    >
      {() => (
        <div class="filters">
          {field('since', t('filter.since'))}
          {field('until', t('filter.until'))}
        </div>
      )}
    </Chip>
  )
}

/** One search for everything: a request's id, or a part of the name of a model, key or user. */
function Find({ set }: Pick<LogFiltersProps, 'set'>) {
  const id = useId()
  const keys = useKeyPicks()
  const users = useUserPicks()
  const tagged = (kind: 'model' | 'user' | 'key', word: string, of: readonly Option[]) =>
    of.map(({ value, text }) => ({ value: `${kind} ${value}`, text, note: word }))
  const options = [
    ...tagged('model', t('model'), useModelPicks()),
    ...tagged('key', t('token'), keys.options),
    ...tagged('user', t('user'), users.options),
  ]
  return (
    <div class="find">
      <label class="unseen" for={id}>
        {t('filter.find')}
      </label>
      <Combobox
        id={id}
        value=""
        options={options}
        placeholder={t('filter.find')}
        isFree
        isOnce
        onSearch={text => {
          keys.search(text)
          users.search(text)
        }}
        onPick={(value, option) => {
          if (!option) return set({ [/^req_\w+$/.test(value) ? 'id' : 'model']: value })
          const [kind = '', name] = value.split(/ (.*)/s, 2)
          return set({ [kind]: name ?? null })
        }}
      />
    </div>
  )
}

type FieldProps = {
  readonly of: FilterName
  readonly label: string
  readonly value: string | undefined
  readonly onPick: (value: string) => void
}

/** The chip of another filter that has a value. */
function MoreFilter({ of: name, ...props }: FieldProps) {
  const values = valuesOf(name, useModels())
  if (values === undefined) return <TextFilter {...props} text={valueOf(name, props.value ?? '')} />
  return <ChoiceFilter {...props} of={values.map(one => [one, valueOf(name, one)] as const)} />
}

/** The field of another filter. */
function Field({ of: name, value = '', ...props }: FieldProps) {
  const values = valuesOf(name, useModels())
  if (values === undefined) return <FilterLine {...props} value={value} />
  return <FilterChoice {...props} value={value} values={values.map(one => [one, valueOf(name, one)] as const)} />
}

/** The values of a filter; undefined if any text is valid. */
function valuesOf(name: FilterName, models: ReturnType<typeof useModels>): readonly string[] | undefined {
  switch (name) {
    case 'tier':
      return tiersOf(models)
    case 'unit':
      return unitsOf(models)
    case 'source':
      return Object.keys(sources)
    case 'other_size':
      return ['true']
    case 'refunded':
      return ['true', 'false']
    case 'outcome':
      return outcomes
    case 'cache':
      return ['hit', 'miss', 'bypass']
    case 'charge':
      return states
    case 'operation':
      return [...new Set(models.flatMap(({ operations }) => operations))]
    default:
      return undefined
  }
}

function labelOf(name: FilterName): string {
  switch (name) {
    case 'tier':
      return label('图片档位', t('label.tier'))
    case 'source':
      return label('来源', t('label.source'))
    case 'unit':
      return t('bill.unit')
    case 'size':
      return t('label.size')
    case 'id':
      return t('request.id')
    case 'end_user':
    case 'tag':
      return t(`costs.${name}`)
    case 'outcome':
      return t('outcome')
    case 'group':
    case 'operation':
    case 'upstream':
    case 'cache':
      return t(name)
    case 'other_size':
    case 'charge':
    case 'refunded':
      return t(`filter.${name}`)
    default:
      return name
  }
}

function valueOf(name: FilterName, value: string): string {
  switch (name) {
    case 'source':
      return sourceText(value)
    case 'unit':
    case 'cache':
      return tName(name, value)
    case 'outcome':
    case 'charge':
      return tName('status', value)
    case 'operation':
      return tOperation(value)
    case 'other_size':
    case 'refunded':
      return t(value === 'true' ? 'yes' : 'no')
    default:
      return value
  }
}
