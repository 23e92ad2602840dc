import { ask, type Row, type Steps } from '../query.ts'
import type { Self } from '../self.ts'
import { whole } from '../rows.ts'
import { insertLine } from './line.ts'
import { type Posting, sumOf } from './postings.ts'
import { book } from './settle.ts'

/**
 * Opens and settles charges in one step, given as the JSON of a list of postings. One that is reserved by us already is
 * settled with its lines and gives its hold back; one that has ended stays as it is, so nothing is ever booked twice.
 */
export function* postCharges(self: Self, text: string): Steps<null> {
  for (const posting of JSON.parse(text) as readonly Posting[]) yield* postCharge(self, posting)
  return null
}

function* postCharge(self: Self, posting: Posting): Steps<void> {
  const { facts, lines, delivery, at } = posting
  const heldNow = (yield* open(self, posting)) ? 0 : yield* takeOver(self, posting)
  if (heldNow === undefined) return
  for (const line of lines) yield insertLine(facts.id, line)
  const [charge] = yield ask(
    `UPDATE charge SET state = 'settled', delivery = ?, ended_at = ? WHERE id = ? RETURNING *`,
    delivery,
    at,
    facts.id,
  )
  yield* book(self, charge as Row, { actor: 'gateway', heldNow, at })
}

/** @returns false when there is a charge of this id. */
function* open(self: Self, { facts, lines, at }: Posting): Steps<boolean> {
  const rows = yield ask(
    `INSERT INTO charge (id, key_id, user_name, group_name, operation, model, family, upstream, config_revision, currency,
       size, quality, n, rule, state, hold, amount, line_count, owner, epoch, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'reserved', 0, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING RETURNING id`,
    facts.id,
    facts.keyId,
    facts.user,
    facts.group,
    facts.operation,
    facts.model,
    facts.family,
    facts.upstream,
    facts.configRevision,
    facts.currency,
    facts.size,
    facts.quality,
    facts.n,
    JSON.stringify(facts.rule),
    sumOf(lines),
    lines.length,
    self.owner,
    self.epoch,
    at,
  )
  return rows.length > 0
}

/** @returns the hold of the charge that was opened before; undefined when it is not open any more, or not ours. */
function* takeOver(self: Self, { facts, lines }: Posting): Steps<number | undefined> {
  const [charge] = yield ask(
    `UPDATE charge SET amount = ?, line_count = ?, upstream = ? WHERE id = ? AND state = 'reserved' AND owner = ?
       AND epoch = ? AND line_count = 0 RETURNING hold`,
    sumOf(lines),
    lines.length,
    facts.upstream,
    facts.id,
    self.owner,
    self.epoch,
  )
  return charge && whole(charge, 'hold')
}
