import type { Kysely } from 'kysely'
import { firstIdAt } from '../../util/ids.ts'
import type { TrailCount, TrailFilter, TrailRow } from '../../domain/index.ts'
import { writeChangeEvent } from '../events/write-change-event.ts'
import { ask, type Row, type QueryProgram } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import type { Tables } from '../tables.ts'

/** The actor and time of a change. */
export type Signed = { readonly by: string; readonly at: number }

const rowsMax = 1_000
const countedMax = 10_000

type Fields = { readonly [field: string]: unknown }

/** Writes a row with the differences of a change, and an event. A change without differences writes neither. */
export function* appendTrail(
  { ids }: Pick<Scribe, 'ids'>,
  { by, at }: Signed,
  action: string,
  subject: string,
  was: object | null,
  became: object | null,
  reason: string | null = null,
): QueryProgram<void> {
  const before = was as Fields | null
  const after = became as Fields | null
  const differ = (name: string): boolean => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name])
  const pick = (fields: Fields | null): string | null =>
    fields && JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([name]) => differ(name))))
  if (before && after && !Object.keys(after).some(differ)) return
  yield ask(
    'INSERT INTO trail (id, at, actor, action, subject, was, became, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ids.next('trail_', at),
    at,
    by,
    action,
    subject,
    pick(before),
    pick(after),
    reason,
  )
  const changed = Object.keys(after ?? before ?? {}).filter(differ)
  yield* writeChangeEvent({ by, at, action, subject, changed })
}

/** Newest first. */
export async function listTrail(db: Kysely<Tables>, filter: TrailFilter): Promise<readonly TrailRow[]> {
  const query = matching(db, filter)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(Math.min(Math.max(filter.limit, 0), rowsMax))
  const rows: readonly Row[] = await query.execute()
  return rows.map(toTrailRow)
}

/** The number of matching rows by action, highest first; if there are very many, only the newest are counted. */
export async function countTrail(
  db: Kysely<Tables>,
  filter: Omit<TrailFilter, 'limit' | 'before'>,
): Promise<readonly TrailCount[]> {
  const some = matching(db, filter).select('action').orderBy('id', 'desc').limit(countedMax).as('some')
  const rows = await db
    .selectFrom(some)
    .select(({ fn }) => ['action', fn.countAll().as('rows')])
    .groupBy('action')
    .orderBy('rows', 'desc')
    .orderBy('action')
    .execute()
  return rows.map(({ action, rows: found }) => ({ action, rows: Number(found) }))
}

function matching(db: Kysely<Tables>, filter: Omit<TrailFilter, 'limit'>) {
  let query = db.selectFrom('trail')
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  // Ids are in order of time.
  if (filter.since !== undefined) query = query.where('id', '>=', firstIdAt('trail_', filter.since))
  if (filter.until !== undefined) query = query.where('id', '<', firstIdAt('trail_', filter.until))
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor)
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject)
  const { action } = filter
  if (action !== undefined)
    query = query.where(is => is.or([is('action', '=', action), is('action', 'like', `${action}.%`)]))
  return query
}

function toTrailRow(row: Row): TrailRow {
  return {
    id: text(row, 'id'),
    at: whole(row, 'at'),
    actor: text(row, 'actor'),
    action: text(row, 'action'),
    subject: text(row, 'subject'),
    before: fieldsOf(row, 'was'),
    after: fieldsOf(row, 'became'),
    reason: textOrNull(row, 'reason'),
  }
}

function fieldsOf(row: Row, column: string): Fields | null {
  const written = textOrNull(row, column)
  return written === null ? null : (JSON.parse(written) as Fields)
}
