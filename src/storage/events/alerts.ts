import { alertKinds, type Dealt, type EventKind, type ToldEvent } from '../../kit/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { leave, type Signed } from '../people/trail.ts'
import type { Scribe } from '../writer-identity.ts'

/** Of each kind: what is older has been over for long, or has been told again since. */
const eventsOfKind = 100
/** What was dealt with so long ago is asked for no more. */
const dealtMs = 400 * 86_400_000
const dealtMax = 2_000

const newest = `SELECT id, at, kind, data FROM event WHERE kind = ? ORDER BY id DESC LIMIT ${eventsOfKind}`

/** Newest first of each kind: as many rows are read however many there are. */
export function* readAlerts(): QueryProgram<{ events: readonly ToldEvent[]; dealt: readonly Dealt[] }> {
  const events: ToldEvent[] = []
  for (const kind of alertKinds)
    for (const row of yield ask(newest, kind))
      events.push({
        id: whole(row, 'id'),
        at: whole(row, 'at'),
        kind: text(row, 'kind') as Exclude<EventKind, 'charge.settled' | 'charge.refunded'>,
        data: JSON.parse(text(row, 'data')) as ToldEvent['data'],
      })
  const rows = yield ask('SELECT alert, actor, at FROM alert_done ORDER BY at DESC LIMIT ?', dealtMax)
  const dealt = rows.map(row => ({ alert: text(row, 'alert'), by: text(row, 'actor'), at: whole(row, 'at') }))
  return { events, dealt }
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
  yield* leave(identity, { by, at }, isDealt ? 'alert.done' : 'alert.reopen', alert, null, null)
  yield ask('DELETE FROM alert_done WHERE at < ?', at - dealtMs)
  return null
}
