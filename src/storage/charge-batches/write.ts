import { hash } from 'node:crypto'
import { bookSpending } from '../accounts/book-spending.ts'
import { ask, type QueryProgram } from '../query.ts'
import { bookKeySpending } from '../keys/book-key-spending.ts'
import { moveEnd, readEnd } from '../ledger/chain.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import type { ChargeBatch, Spent } from './draft.ts'
import { aloneColumns } from './members.ts'

const insert = `INSERT INTO segment (chain, position, first_id, last_id, count, owner, epoch, prev_hash, hash, ${aloneColumns.join(', ')}, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const several = aloneColumns.map(() => null)

/**
 * Books a group of charges: writes one row of this writer's chain, and the spending of keys, users and groups. Does
 * not write an existing group again: a group whose commit was in doubt is sent again unchanged, so its first and last
 * id identify it.
 * @throws Error if one of the keys does not exist
 */
export function* writeChargeBatch(identity: WriterIdentity, batch: ChargeBatch, now: number): QueryProgram<void> {
  const { chain, owner, epoch } = identity
  const { firstId, lastId, count, alone, body } = batch
  const there = yield ask('SELECT 1 AS there FROM segment WHERE last_id = ? AND first_id = ?', lastId, firstId)
  if (there.length > 0) return
  const spent = JSON.parse(batch.spent) as Spent[]
  yield* bookKeySpending(identity, spent, now)
  yield* bookSpending(identity, spent, now)
  const end = yield* readEnd(chain)
  const position = end.position + 1
  const head = hashChargeBatch(chain, position, end.head, body)
  yield ask(insert, chain, position, firstId, lastId, count, owner, epoch, end.head, head, ...(alone ?? several), body)
  yield* moveEnd(chain, { position, head })
}

/** The hash of `segment CHAIN POSITION BEFORE`, a line break, and the body: easy to reproduce by hand. */
export function hashChargeBatch(chain: string, position: number, before: string, body: string): string {
  return hash('sha256', `segment ${chain} ${position} ${before}\n${body}`, 'hex')
}
