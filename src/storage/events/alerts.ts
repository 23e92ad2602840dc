import { alertKinds, type AlertsRead, type EventKind, type StoredEvent } from '../../domain/index.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole, wholeOrNull } from '../rows.ts'
import { appendTrail, type Signed } from '../people/trail.ts'
import type { Scribe } from '../writer-identity.ts'

/** The number of events of each kind: the cause of older ones has ended, or they were sent again since. */
const eventsOfKind = 100
/** Alerts that were dealt with longer ago than this are not read any more. */
const dealtMs = 400 * 86_400_000
const dealtMax = 2_000

/**
 * The number of budget events that are searched: events of keys, whose budgets their owners may change freely, cannot
 * hide others.
 */
const budgetsLooked = 5_000

const newest = `SELECT id, at, kind, data FROM event WHERE kind = ? ORDER BY id DESC LIMIT ${eventsOfKind}`
// Events of a budget begin with its owner. A spent budget of an end user needs no attention.
const newestBut = (not: string): string => `SELECT id, at, kind, data FROM (SELECT id, at, kind, data FROM event
    WHERE kind = ? AND data NOT LIKE '{"level":"end_user",%' ORDER BY id DESC LIMIT ${budgetsLooked}) newest
  WHERE data ${not} LIKE '{"level":"key",%' ORDER BY id DESC LIMIT ${eventsOfKind}`
const newestOfKeys = newestBut('')
const newestOfOthers = newestBut('NOT')
const newestReview = `SELECT max(ended_at) AS at FROM charge WHERE state = 'needs_review'`
const undelivered = `SELECT webhook, coalesce(max(CASE WHEN next_at IS NULL THEN event END), '') AS given_up,
    coalesce(min(CASE WHEN next_at IS NULL THEN NULL ELSE event END), '') AS waiting FROM webhook_retry GROUP BY webhook`

/** Reads the newest first of each kind: the number of rows read is constant. */
export function* readAlerts(): QueryProgram<AlertsRead> {
  const events: StoredEvent[] = []
  const questions = alertKinds.flatMap(kind =>
    (kind.startsWith('budget.') ? [newestOfKeys, newestOfOthers] : [newest]).map(sql => ({ sql, kind })),
  )
  for (const { sql, kind } of questions)
    for (const row of yield ask(sql, kind))
      events.push({
        id: whole(row, 'id'),
        at: whole(row, 'at'),
        kind: text(row, 'kind') as Exclude<EventKind, 'charge.settled' | 'charge.refunded'>,
        data: JSON.parse(text(row, 'data')) as StoredEvent['data'],
      })
  const rows = yield ask('SELECT alert, actor, at FROM alert_done ORDER BY at DESC LIMIT ?', dealtMax)
  const dealt = rows.map(row => ({ alert: text(row, 'alert'), by: text(row, 'actor'), at: whole(row, 'at') }))
  const [review] = yield ask(newestReview)
  const waiting = yield ask(undelivered)
  const last = (row: Row): string => [text(row, 'given_up'), text(row, 'waiting')].toSorted().at(-1) ?? ''
  return {
    events,
    dealt,
    newest: {
      review: review ? wholeOrNull(review, 'at') : null,
      undelivered: new Map(waiting.map(row => [text(row, 'webhook'), last(row)])),
    },
  }
}

export function* dealWith(
  identity: Scribe,
  { alert, isDealt, by, at }: Signed & { readonly alert: string; readonly isDealt: boolean },
): QueryProgram<null> {
  const changed = isDealt
    ? yield ask(
        'INSERT INTO alert_done (alert, actor, at) VALUES (?, ?, ?) ON CONFLICT (alert) DO NOTHING RETURNING alert',
        alert,
        by,
        at,
      )
    : yield ask('DELETE FROM alert_done WHERE alert = ? RETURNING alert', alert)
  if (changed.length === 0) return null
  yield* appendTrail(identity, { by, at }, isDealt ? 'alert.done' : 'alert.reopen', alert, null, null)
  yield ask('DELETE FROM alert_done WHERE at < ?', at - dealtMs)
  return null
}
