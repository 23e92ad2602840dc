import type { EventKind, FeedEvent, FeedPage, FeedQuery } from '../../domain/index.ts'
import { aheadMs } from '../../domain/budget.ts'
import { firstEvent } from '../../domain/events.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole, wholeOrNull } from '../rows.ts'
import { readSlice, type Slice } from './charged.ts'
import { endOfPiece, idOfPosition, type EventPosition, positionOfId } from './position.ts'

/** Events that one page reads, however many match: a client that gets fewer continues after `next`. */
const lookedAtMax = 2_000
const piecesTogether = 64
const chargeKinds: readonly EventKind[] = ['charge.settled', 'charge.refunded']

type Piece = { readonly place: number; readonly slice?: Slice; readonly event?: FeedEvent }

/**
 * Events after an id, in the order of all events that have a position.
 * @throws RangeError for an `after` that is not an event's id; Error for a ledger that cannot be read
 */
export function* readFeed(query: FeedQuery): QueryProgram<FeedPage> {
  const { limit, kinds } = query
  const events: FeedEvent[] = []
  let reached = positionOfId(query.after ?? (yield* firstSince(query.since)))
  let lookedAt = 0
  const noCharges = kinds !== undefined && !kinds.some(kind => chargeKinds.includes(kind))

  const take = (event: FeedEvent): void => {
    lookedAt++
    reached = positionOfId(event.id)
    if (matchesQuery(query, event)) events.push(event)
  }

  for (;;) {
    const pieces = yield* nextPieces(reached, noCharges)
    for (const { place, slice, event } of pieces) {
      if (event) take(event)
      if (slice) {
        for (let upto = -1; upto < slice.ends; ) {
          const own = reached.place === place ? reached : undefined
          const read = yield* readSlice(slice, own)
          for (const one of read.events) {
            take(one)
            if (events.length >= limit) return { events, next: idOfPosition(reached), isOver: false }
          }
          upto = read.upto
          reached = upto < slice.ends ? { place, position: upto, index: endOfPiece.index } : { place, ...endOfPiece }
          if (lookedAt >= lookedAtMax) return { events, next: idOfPosition(reached), isOver: false }
        }
      }
      if (events.length >= limit || lookedAt >= lookedAtMax)
        return { events, next: idOfPosition(reached), isOver: false }
    }
    if (pieces.length < piecesTogether) return { events, next: yield* endFrom(idOfPosition(reached)), isOver: true }
  }
}

/** The last position before a moment: every event since then is after it. */
function* firstSince(since: number | undefined): QueryProgram<string> {
  if (since === undefined) return firstEvent
  const [row] = yield ask('SELECT max(place) AS place FROM event_slice WHERE at < ?', since - aheadMs)
  const place = row && wholeOrNull(row, 'place')
  return typeof place === 'number' ? idOfPosition({ place, ...endOfPiece }) : firstEvent
}

/** The last assigned position. */
export function* endFrom(reached: string = firstEvent): QueryProgram<string> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'event_place'`)
  const end = idOfPosition({ place: row ? whole(row, 'value') : 0, ...endOfPiece })
  return end > reached ? end : reached
}

function matchesQuery({ kinds, user, since }: FeedQuery, { kind, at, data }: FeedEvent): boolean {
  return (
    (kinds === undefined || kinds.includes(kind)) &&
    (user === undefined || data['user'] === user) &&
    (since === undefined || at >= since)
  )
}

/** One event; undefined if there is none with this id. */
export function* findEvent(id: string): QueryProgram<FeedEvent | undefined> {
  const { place, position, index } = positionOfId(id)
  const [row] = yield ask('SELECT id, place, at, kind, data FROM event WHERE place = ?', place)
  if (row) return position === 0 && index === 0 ? toEvent(row) : undefined
  const [found] = yield ask('SELECT place, chain, begins, ends FROM event_slice WHERE place = ?', place)
  if (!found) return undefined
  const slice = { ...toSlice(found), begins: position - 1, ends: position }
  const { events } = yield* readSlice(slice, undefined)
  return events.find(event => event.id === id)
}

function* nextPieces(reached: EventPosition, noCharges: boolean): QueryProgram<readonly Piece[]> {
  const { place } = reached
  const slices = noCharges
    ? []
    : yield ask(
        'SELECT place, chain, begins, ends FROM event_slice WHERE place >= ? ORDER BY place LIMIT ?',
        // A piece that was read to its end is not read again.
        reached.position === endOfPiece.position ? place + 1 : place,
        piecesTogether,
      )
  const events = yield ask(
    'SELECT id, place, at, kind, data FROM event WHERE place > ? ORDER BY place LIMIT ?',
    place,
    piecesTogether,
  )
  const pieces: Piece[] = [
    ...slices.map(row => ({ place: whole(row, 'place'), slice: toSlice(row) })),
    ...events.map(row => ({ place: whole(row, 'place'), event: toEvent(row) })),
  ]
  return pieces.sort((a, b) => a.place - b.place).slice(0, piecesTogether)
}

function toSlice(row: Row): Slice {
  return {
    place: whole(row, 'place'),
    chain: text(row, 'chain'),
    begins: whole(row, 'begins'),
    ends: whole(row, 'ends'),
  }
}

function toEvent(row: Row): FeedEvent {
  return {
    id: idOfPosition({ place: whole(row, 'place'), position: 0, index: 0 }),
    at: whole(row, 'at'),
    kind: text(row, 'kind') as EventKind,
    data: JSON.parse(text(row, 'data')) as FeedEvent['data'],
  }
}
