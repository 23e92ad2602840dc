import type { ComponentChildren } from 'preact'
import { useModels } from '../../api/models.ts'
import { Button } from '../../kit/button.tsx'
import { FilterChoice, FilterLine } from '../../kit/filter-line.tsx'
import { t, tName } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'
import { tiersOf, unitsOf } from './tiers.ts'

type Query = { readonly [name: string]: string | undefined }

const names = [
  'since',
  'until',
  'model',
  'status',
  'tier',
  'source',
  'unit',
  'other_size',
  'size',
  'id',
  'key',
  'user',
  'group',
  'operation',
  'upstream',
  'outcome',
  'cache',
  'charge',
  'refunded',
] as const
type Name = (typeof names)[number]

const statuses = ['2xx', '4xx', '5xx', '400', '401', '402', '413', '429', '502'] as const
const outcomes = ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const
const states = ['reserved', 'settled', 'voided', 'needs_review'] as const

/** The filters that are always visible; the rest is one click away. */
const first = 6

/** The filters of the log in the address. */
export function readFilter(query: Query): { readonly [name: string]: string } {
  return Object.fromEntries(names.flatMap(name => (query[name] ? [[name, query[name]]] : [])))
}

export function LogFilters({
  query,
  set,
  admin,
  children,
}: {
  readonly query: Query
  readonly set: (change: { readonly [name: string]: string | null }) => void
  readonly admin: boolean
  /** The text next to the button that removes a filter. */
  readonly children?: ComponentChildren
}) {
  const models = useModels()
  const used = names.filter(name => query[name])
  const change = (name: Name) => (value: string) => set({ [name]: value === '' ? null : value })
  const text = (name: Name, label: string, list?: readonly string[]) => (
    <FilterLine key={name} label={label} value={query[name] ?? ''} onPick={change(name)} {...(list && { list })} />
  )
  const moment = (name: Name, label: string) => (
    <FilterLine
      key={name}
      label={label}
      type="datetime-local"
      value={localMoment(query[name])}
      onPick={value => change(name)(value === '' ? '' : new Date(value).toISOString())}
    />
  )
  const choice = (name: Name, label: string, values: readonly string[], tell: (one: string) => string = String) => (
    <FilterChoice
      key={name}
      label={label}
      value={query[name] ?? ''}
      values={values.map(one => [one, tell(one)] as const)}
      onPick={change(name)}
    />
  )
  const operations = [...new Set(models.flatMap(model => model.operations))]
  return (
    <search class="stack tight">
      <div class="filters">
        {moment('since', t('filter.since'))}
        {moment('until', t('filter.until'))}
        {text(
          'model',
          t('model'),
          models.map(model => model.name),
        )}
        {choice('status', t('status'), statuses)}
        {choice('tier', label('图片档位', t('label.tier')), tiersOf(models))}
        {choice('source', label('来源', t('label.source')), Object.keys(sources), sourceText)}
      </div>
      <p class="quiet">{t('filter.zone', { zone: zoneName() })}</p>
      <details open={used.some(name => names.indexOf(name) >= first)}>
        <summary>{t('filter.more')}</summary>
        <div class="filters">
          {choice('unit', t('bill.unit'), unitsOf(models), one => tName('unit', one))}
          {choice('other_size', t('filter.other_size'), ['true'], yesNo)}
          {text('size', t('label.size'))}
          {text('id', t('request.id'))}
          {text('key', t('filter.key'))}
          {admin && text('user', t('user'))}
          {text('group', t('group'))}
          {choice('operation', t('operation'), operations, tOperation)}
          {text('upstream', t('upstream'))}
          {choice('outcome', t('outcome'), outcomes, one => tName('status', one))}
          {choice('cache', t('cache'), ['hit', 'miss', 'bypass'], one => tName('cache', one))}
          {choice('charge', t('filter.charge'), states, one => tName('status', one))}
          {choice('refunded', t('filter.refunded'), ['true', 'false'], yesNo)}
        </div>
      </details>
      <div class="inline">
        {used.length > 0 && (
          <Button onClick={() => set(Object.fromEntries(names.map(name => [name, null])))}>{t('filter.clear')}</Button>
        )}
        {children}
      </div>
    </search>
  )
}

function yesNo(value: string): string {
  return t(value === 'true' ? 'yes' : 'no')
}

/** The source of a tier, as in the record (`docs/rules.md#billing-labels`). */
const sources: { readonly [source: string]: string } = {
  told: '应答所述',
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

/** The source of a tier: the word of the record, and its meaning. */
export function sourceText(source: string): string {
  const chinese = sources[source]
  return chinese === undefined ? source : label(chinese, tName('source', source))
}

/**
 * The label of the bill (`docs/rules.md#billing-labels`), and its meaning if the reader's language is another.
 */
export function label(chinese: string, english: string): string {
  return english === chinese ? chinese : `${chinese} ${english}`
}

/** The reader's own key, by its name. */
function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

function localMoment(moment: string | undefined): string {
  const at = moment ? new Date(moment) : null
  if (!at || Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
