import type { HoldRequest, HoldResult, Key, Line, NewKey, Settlement } from '../kit/index.ts'
import type { Batch } from './journal/backlog.ts'
import { writeLogs } from './journal/write.ts'
import { createKey, createUser, type NewUser, revokeKey, setPassword } from './keys/write.ts'
import { type EmptyEnd, endEmpty } from './ledger/end-empty.ts'
import { hold } from './ledger/hold.ts'
import { addLine } from './ledger/line.ts'
import { markDelivered } from './ledger/mark-delivered.ts'
import { type Decision, refund, resolve } from './ledger/resolve.ts'
import { postCharges } from './ledger/post-charges.ts'
import { settle } from './ledger/settle.ts'
import { sweep } from './ledger/sweep.ts'
import { ask, type Steps } from './query.ts'
import type { Self } from './self.ts'

/** Every change of the storage by name, with what it is given and what it gives back. All of it crosses threads. */
export type Changes = {
  hold: { given: { readonly request: HoldRequest; readonly at: number }; gives: HoldResult }
  line: { given: { readonly chargeId: string; readonly line: Line }; gives: boolean }
  settle: { given: { readonly settlement: Settlement; readonly at: number }; gives: boolean }
  endEmpty: { given: EmptyEnd; gives: boolean }
  resolve: { given: Decision; gives: boolean }
  refund: { given: Omit<Decision, 'how'>; gives: number }
  sweep: { given: { readonly at: number }; gives: number }
  createKey: { given: { readonly key: NewKey; readonly at: number }; gives: Key }
  revokeKey: { given: { readonly id: string }; gives: boolean }
  createUser: { given: { readonly user: NewUser; readonly at: number }; gives: null }
  setPassword: { given: { readonly name: string; readonly passwordHash: string }; gives: boolean }
  /** Charges as the JSON of a list. */
  post: { given: { readonly postings: string }; gives: null }
  batch: { given: Batch; gives: null }
  probe: { given: null; gives: null }
}

export type Change = keyof Changes
export type Given<C extends Change> = Changes[C]['given']
export type Gives<C extends Change> = Changes[C]['gives']
/** A change on its way to the writer. */
export type Op = { [C in Change]: { readonly change: C; readonly given: Given<C> } }[Change]

const stepsByChange: { readonly [C in Change]: (self: Self, given: Given<C>) => Steps<Gives<C>> } = {
  hold: (self, { request, at }) => hold(self, request, at),
  line: (self, { chargeId, line }) => addLine(self, chargeId, line),
  settle: (self, { settlement, at }) => settle(self, settlement, at),
  endEmpty,
  resolve,
  refund,
  sweep: (_self, { at }) => sweep(at),
  createKey: (_self, { key, at }) => createKey(key, at),
  revokeKey: (_self, { id }) => revokeKey(id),
  createUser: (_self, { user, at }) => createUser(user, at),
  setPassword: (_self, { name, passwordHash }) => setPassword(name, passwordHash),
  post: (self, { postings }) => postCharges(self, postings),
  batch: (_self, batch) => writeBatch(batch),
  probe,
}

/** The queries of a change, for a driver to run inside a transaction. */
export function stepsOf<C extends Change>(change: C, given: Given<C>, self: Self): Steps<Gives<C>> {
  return stepsByChange[change](self, given)
}

function* writeBatch({ logs, delivered }: Batch): Steps<null> {
  yield* writeLogs(logs)
  yield* markDelivered(delivered)
  return null
}

/** Writes and takes away 64 KiB: proves that there is room, and leaves the room for charges. */
function* probe(): Steps<null> {
  const [row] = yield ask(
    'INSERT INTO probe (id, filler) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler RETURNING id',
    new Uint8Array(65_536),
  )
  if (!row) throw new Error('the probe was not written')
  yield ask('DELETE FROM probe WHERE id = 1')
  return null
}
