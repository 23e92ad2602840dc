import { type EventKind, eventKinds, type NewEvent, type StoredEvent } from '../../domain/index.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'

/** Writes an event in the transaction of its change: both are stored, or neither. */
export function* writeEvent({ kind, data }: NewEvent, at: number): QueryProgram<void> {
  yield ask('INSERT INTO event (at, kind, data) VALUES (?, ?, ?)', at, kind, JSON.stringify(data))
}

/**
 * Writes an event unless the last one of its sort is equal: several gateways may notice the same. With `ends` it is
 * written only if that last event is of this kind: on its own it reports nothing new.
 */
export function* writeNewEvent(event: NewEvent, at: number, ends?: EventKind): QueryProgram<void> {
  const { kind, data } = event
  const sort = kind.slice(0, kind.indexOf('.') + 1)
  let last: Row | undefined
  // One kind at a time, by the index of kinds: a search by the beginning of the kind may read all events.
  for (const same of eventKinds.filter(one => one.startsWith(sort))) {
    const [newest] = yield ask('SELECT id, kind, data FROM event WHERE kind = ? ORDER BY id DESC LIMIT 1', same)
    if (newest && (!last || whole(newest, 'id') > whole(last, 'id'))) last = newest
  }
  if (ends !== undefined && last?.['kind'] !== ends) return
  if (last?.['kind'] === kind && withoutHost(JSON.parse(text(last, 'data')) as Data) === withoutHost(data)) return
  yield* writeEvent(event, at)
}

type Data = NewEvent['data']

/** What several gateways report is one event, with the host of the first. */
function withoutHost({ host: _host, ...data }: Data): string {
  return JSON.stringify(data)
}

/** Events after the one with this number, in the order in which they were stored. */
export function* eventsAfter(id: number, limit: number): QueryProgram<readonly StoredEvent[]> {
  const rows = yield ask('SELECT id, at, kind, data FROM event WHERE id > ? ORDER BY id LIMIT ?', id, limit)
  return rows.map(row => ({
    id: whole(row, 'id'),
    at: whole(row, 'at'),
    kind: text(row, 'kind') as StoredEvent['kind'],
    data: JSON.parse(text(row, 'data')) as StoredEvent['data'],
  }))
}
