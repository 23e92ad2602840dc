import { kindOfRow } from '../../../domain/row-kind.ts'
import type { LogRecord } from '../../api/shapes.ts'
import { ChargesOf } from '../../kit/charged.tsx'
import { Chip } from '../../kit/chip.tsx'
import type { Column } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { count, duration } from '../../numbers.ts'
import { t } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'
import { modelText } from './model-text.ts'
import { Outcome } from './outcome.tsx'

/** Columns that can be chosen, in order. The time is always shown, because it links to the details. */
const chosenNames = [
  'result',
  'model',
  'operation',
  'user',
  'key',
  'group',
  'upstream',
  'tier',
  'size',
  'tokens',
  'end_user',
  'tags',
  'error',
  'id',
  'amount',
  'duration',
] as const
export type ColumnName = (typeof chosenNames)[number]

const usual: readonly ColumnName[] = ['result', 'model', 'operation', 'user', 'key', 'tier', 'amount', 'duration']

/** The columns in the address, `?cols=result,model`; the usual ones without it. */
export function readColumns(cols: string | undefined): readonly ColumnName[] {
  const requested = cols?.split(',') ?? []
  const chosen = chosenNames.filter(name => requested.includes(name))
  return chosen.length === 0 ? usual : chosen
}

export type KeyNames = {
  readonly names: { readonly [id: string]: string }
  readonly sessions: ReadonlySet<string>
}

/** The name of the key of a request; its id if the gateway has no name. */
export function keyText({ key_id: id }: Pick<LogRecord, 'key_id'>, { names, sessions }: KeyNames): string {
  if (id === null) return '–'
  return names[id] ?? (sessions.has(id) ? t('costs.sessions') : id)
}

/** `query`: the parameters of the address, which a row's link keeps. */
export function columnsOf(
  names: readonly ColumnName[],
  { query, keys, readsAll }: { readonly query: string; readonly keys: KeyNames; readonly readsAll: boolean },
): readonly Column<LogRecord>[] {
  const text = (head: string, of: (record: LogRecord) => string | null | undefined): Column<LogRecord> => ({
    head,
    clip: record => of(record) ?? '',
    cell: record => <span class="theirs">{of(record) ?? '–'}</span>,
  })
  const all: { readonly [name in ColumnName]: Column<LogRecord> } = {
    result: { head: t('result'), cell: record => <Outcome of={record} /> },
    model: { ...text(t('model'), modelText), wide: true },
    operation: {
      ...text(t('operation'), record => tOperation(record.operation)),
      few: true,
      cell: record => (
        <>
          {tOperation(record.operation)}
          {kindOfRow(record) === 'lookup' && (
            <span class="tag" title={t('logs.lookup.text')}>
              {t('logs.lookup')}
            </span>
          )}
        </>
      ),
    },
    user: text(t('user'), record => record.user),
    key: { ...text(t('token'), record => keyText(record, keys)), lesser: true },
    group: text(t('group'), record => record.group),
    upstream: text(t('upstream'), record => record.upstream),
    tier: {
      head: t('label.tier'),
      lesser: true,
      cell: record => record.billing?.tier ?? (record.billing?.count ? t('logs.mixed') : '–'),
    },
    size: text(t('label.size'), record => record.billing?.size),
    tokens: {
      head: t('details.usage'),
      numeric: true,
      cell: ({ usage: { input_tokens: input, output_tokens: output } }) =>
        input === null && output === null ? '–' : `${count(input ?? 0)} → ${count(output ?? 0)}`,
    },
    end_user: text(t('costs.end_user'), record => record.end_user),
    tags: text(t('costs.tag'), record => record.tags?.join(', ')),
    error: text(t('error'), record => record.error),
    id: text(t('request.id'), record => record.id),
    amount: { head: t('amount'), numeric: true, cell: record => <ChargesOf of={record} /> },
    duration: { head: t('duration'), numeric: true, cell: record => duration(record.duration_ms) },
  }
  const time: Column<LogRecord> = {
    head: t('time'),
    cell: record => (
      <a href={`/console/logs/${encodeURIComponent(record.id)}${query}`}>
        <Time at={record.time} seconds />
      </a>
    ),
  }
  return [time, ...names.filter(name => name !== 'user' || readsAll).map(name => all[name])]
}

/** The choice of columns. It is in the address, so that saved views include it. */
export function ColumnChip({
  chosen,
  readsAll,
  set,
}: {
  readonly chosen: readonly ColumnName[]
  readonly readsAll: boolean
  readonly set: (change: { readonly cols: string | null }) => void
}) {
  const heads = columnsOf(chosenNames, { query: '', keys: { names: {}, sessions: new Set() }, readsAll: true })
  const put = (names: readonly ColumnName[]) => {
    const text = names.join(',')
    set({ cols: text === usual.join(',') || text === '' ? null : text })
  }
  return (
    <Chip label={t('logs.columns')}>
      {() => (
        <fieldset class="checks">
          <legend class="unseen">{t('logs.columns')}</legend>
          {chosenNames.map((name, i) => {
            if (name === 'user' && !readsAll) return null
            const isChosen = chosen.includes(name)
            return (
              <label key={name} class="check">
                <input
                  type="checkbox"
                  checked={isChosen}
                  onChange={() => put(chosenNames.filter(one => (one === name ? !isChosen : chosen.includes(one))))}
                />
                {heads[i + 1]?.head}
              </label>
            )
          })}
        </fieldset>
      )}
    </Chip>
  )
}
