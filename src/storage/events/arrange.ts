import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** Events other than charges that are ordered in one step. */
const eventsTogether = 1_000

/** One transaction at a time: others wait for this row. */
const wait = `SELECT value FROM meta WHERE name = 'event_place' ${lockRows}`
const grown = `SELECT c.id, c.position AS ends, coalesce(e.position, 0) AS begins FROM chain c
  LEFT JOIN event_chain e ON e.chain = c.id WHERE c.position > coalesce(e.position, 0) ORDER BY c.id`
const insertSlice = 'INSERT INTO event_slice (place, at, chain, begins, ends) VALUES (?, ?, ?, ?, ?)'
const moveOn = `INSERT INTO event_chain (chain, position) VALUES (?, ?)
  ON CONFLICT (chain) DO UPDATE SET position = excluded.position`

/**
 * Assigns new events their position in the order of all events. A chain has one writer, so everything up to its end is
 * committed, and an event has its position once it is visible: no event appears later at a position that was already
 * read.
 * @returns the last assigned position
 */
export function* arrangeEvents(at: number): QueryProgram<number> {
  const [row] = yield ask(wait)
  if (!row) throw new Error('the storage has lost the place of its last event')
  const last = whole(row, 'value')
  let place = last
  for (const chain of yield ask(grown)) {
    const [id, begins, ends] = [text(chain, 'id'), whole(chain, 'begins'), whole(chain, 'ends')]
    yield ask(insertSlice, ++place, at, id, begins, ends)
    yield ask(moveOn, id, ends)
  }
  for (const event of yield ask('SELECT id FROM event WHERE place IS NULL ORDER BY id LIMIT ?', eventsTogether))
    yield ask('UPDATE event SET place = ? WHERE id = ?', ++place, whole(event, 'id'))
  if (place > last) yield ask(`UPDATE meta SET value = ? WHERE name = 'event_place'`, place)
  return place
}
