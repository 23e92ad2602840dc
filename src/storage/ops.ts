import type {
  AdminToken,
  NewAdminToken,
  ErasedRows,
  Erasure,
  Adopted,
  Adoption,
  HoldRequest,
  HoldResult,
  Invitation,
  Job,
  Key,
  KeyChange,
  KeyDecision,
  KeyStatus,
  ChargeItem,
  EventKind,
  NewEvent,
  OtherKeys,
  PutKey,
  NewInvitation,
  NewJob,
  NewKey,
  NewUser,
  Refused,
  RefusedTry,
  RebuildState,
  Repricing,
  Rotation,
  Settlement,
  StoredObject,
  OpenSession,
  Deliveries,
  TopUp,
  TopUpChanged,
  TrailRow,
  User,
  UserChange,
  WaysIn,
} from '../domain/index.ts'
import { keepConfig, type PackedConfig } from './config-history.ts'
import { foldCosts } from './costs/fold.ts'
import { rollUpCosts } from './costs/roll-up.ts'
import { finishRebuild, rebuildCosts } from './costs/rebuild.ts'
import { type Payment, topUp } from './accounts/top-up.ts'
import { closeUser, eraseLate, eraseUser, hasLate } from './erase/erase.ts'
import { eraseLogs } from './erase/logs.ts'
import { endJob, type JobEnd, openJob, ownJobs } from './jobs.ts'
import { arrangeEvents } from './events/arrange.ts'
import { dealWith } from './events/alerts.ts'
import { pruneEvents } from './events/prune.ts'
import { writeEvent, writeNewEvent } from './events/write-event.ts'
import { claimWebhook, writeDelivery, queueRedelivery } from './events/webhooks.ts'
import type { Batch } from './journal/log-queue.ts'
import { dropChanged, writeBatchCharges, type BatchCharges } from './journal/batch-charges.ts'
import { pruneLogs } from './journal/prune.ts'
import { sumUp } from './journal/sum-up.ts'
import { adopt } from './keys/adopt.ts'
import { changeKey, changeOwnKey, createKey, createOwnKey, revokeKey, rotateKey } from './keys/write.ts'
import { putKey } from './keys/put.ts'
import { type EmptyEnd, endEmpty } from './ledger/end-empty.ts'
import { hold } from './ledger/hold.ts'
import { addChargeItem } from './ledger/charge-item.ts'
import { reprice } from './ledger/reprice.ts'
import { type Refunding, refund } from './ledger/refund.ts'
import { type Decision, resolve } from './ledger/resolve.ts'
import type { Posted } from './ledger/charge-queue.ts'
import { postCharges } from './ledger/post-charges.ts'
import { beat } from './ledger/recover.ts'
import type { Recovery } from './ledger/recovery.ts'
import { type Corrections, repairBudgets } from './ledger/repair.ts'
import { introduce, keepLease } from './ledger/replicas.ts'
import { settle } from './ledger/settle.ts'
import { sweep } from './ledger/sweep.ts'
import { admitUser, createInvitation, revokeInvitation } from './people/invitations.ts'
import { createSession, endSession, type NewSession, touchSession } from './people/sessions.ts'
import { createAdminToken, revokeAdminToken, touchAdminToken } from './people/admin-tokens.ts'
import { claimSetup, offerSetup, type SetupClaim } from './people/setup.ts'
import {
  takeLogin,
  saveLogin,
  endUserSessions,
  linkIdentity,
  type Linking,
  type StoredLogin,
  unlinkIdentity,
  type Unlinking,
} from './people/sign-in.ts'
import { countRefused } from './people/refused.ts'
import { appendTrail, type Signed } from './people/trail.ts'
import { changeUser, createUser, setPassword } from './people/users.ts'
import { addLabel, eraseLabel, noteSeen, pruneLabels } from './labels.ts'
import { putView, removeView, type ViewPut, type ViewRemoval } from './people/views.ts'
import { takeInRows } from './log-batches/move.ts'
import { writeLogs } from './log-batches/write.ts'
import { ask, type QueryProgram, skipLocked } from './query.ts'
import { endObject, type ObjectEnd, putObjects } from './stored-objects.ts'
import { purgeAnswers, type Purging } from './answer-purges.ts'
import { dropSession, endLiveSession, putSession } from './live-sessions.ts'
import { decideVendorKey, type KeySpent, putVendorKey, spendOfKey } from './vendor-keys.ts'
import type { Scribe } from './writer-identity.ts'
import { aheadMs } from '../domain/budget.ts'
import { payerColumns } from './accounts/levels.ts'
import { releaseHolds } from './ledger/release-holds.ts'

/** Charges of one commit. */
const lapseTogether = 500

/**
 * Voids charges that have been under review since `until` or before, as configured, and releases their holds. If a
 * review began by a clock that was ahead, its wait begins now. @returns the number of charges; `lapseTogether` if there
 * may be more
 */
function* lapse({ until, at }: { readonly until: number; readonly at: number }): QueryProgram<number> {
  yield ask(`UPDATE charge SET ended_at = ? WHERE state = 'needs_review' AND ended_at > ?`, at, at + aheadMs)
  const charges = yield ask(
    `UPDATE charge SET state = 'voided', amount = 0, reason = coalesce(reason || ', ', '') || 'nobody decided in time', ended_at = ?
     WHERE id IN (SELECT id FROM charge WHERE state = 'needs_review' AND ended_at <= ? LIMIT ${lapseTogether} ${skipLocked})
     RETURNING ${payerColumns}, CASE WHEN kept = 1 THEN hold ELSE 0 END AS hold`,
    at,
    until,
  )
  yield* releaseHolds(charges)
  return charges.length
}

/** Every change of the storage by name, with its arguments and result. All of them are sent to threads. */
export type Changes = {
  hold: { given: { readonly request: HoldRequest; readonly at: number }; gives: HoldResult }
  line: {
    given: { readonly chargeId: string; readonly line: ChargeItem; readonly upstream?: string }
    gives: boolean
  }
  /** `now`: the time of the write if it is later than `at`, because the storage was unavailable. */
  settle: { given: { readonly settlement: Settlement; readonly at: number; readonly now?: number }; gives: boolean }
  endEmpty: { given: EmptyEnd; gives: boolean }
  resolve: { given: Decision; gives: boolean }
  refund: { given: Refunding; gives: number }
  reprice: { given: Repricing & { readonly at: number }; gives: boolean }
  sweep: { given: { readonly at: number }; gives: Swept }
  lapse: { given: { readonly until: number; readonly at: number }; gives: number }
  beat: { given: { readonly at: number }; gives: Recovery }
  putObjects: { given: readonly StoredObject[]; gives: null }
  endObject: { given: ObjectEnd; gives: boolean }
  putSession: { given: OpenSession; gives: null }
  dropSession: { given: string; gives: null }
  endLiveSession: { given: Signed & { readonly id: string; readonly reason: string | null }; gives: boolean }
  purgeAnswers: { given: Purging; gives: null }
  openJob: { given: { readonly job: NewJob; readonly at: number }; gives: null }
  endJob: { given: JobEnd; gives: boolean }
  ownJobs: { given: string; gives: readonly Job[] }
  adopt: { given: Signed & { readonly adoption: Adoption }; gives: Adopted }
  createKey: { given: Signed & { readonly key: NewKey }; gives: Key }
  changeKey: { given: Signed & { readonly id: string; readonly change: KeyChange }; gives: Key | undefined }
  createOwnKey: {
    given: Signed & { readonly key: NewKey; readonly keysMax: number | null }
    gives: Key | Refused
  }
  changeOwnKey: {
    given: Signed & { readonly id: string; readonly change: KeyChange }
    gives: Key | Refused | undefined
  }
  putKey: {
    given: Signed & { readonly key: NewKey; readonly status: 'active' | 'disabled' | null }
    gives: PutKey
  }
  rotateKey: { given: Signed & { readonly id: string; readonly rotation: Rotation }; gives: Key | undefined }
  revokeKey: { given: Signed & { readonly id: string }; gives: boolean }
  createUser: { given: Signed & { readonly user: NewUser }; gives: null }
  changeUser: {
    given: Signed & { readonly name: string; readonly change: UserChange; readonly ways?: WaysIn | null }
    gives: User | undefined
  }
  setPassword: {
    given: Signed & { readonly name: string; readonly passwordHash: string; readonly keep: string | null }
    gives: boolean
  }
  topUp: {
    given: Signed & Payment
    gives: TopUp | TopUpChanged | undefined
  }
  closeUser: {
    given: Signed & { readonly name: string; readonly ways: WaysIn | null }
    gives: readonly ErasedRows[] | null
  }
  eraseUser: { given: Signed & { readonly name: string }; gives: Erasure | number | undefined }
  eraseLate: { given: { readonly at: number }; gives: null }
  eraseLogs: { given: { readonly name: string; readonly pseudonym: string }; gives: number }
  offerSetup: { given: { readonly tokenHash: string; readonly expiresAt: number }; gives: null }
  claimSetup: { given: SetupClaim; gives: 'claimed' | 'unknown' | 'done' }
  createSession: { given: NewSession; gives: boolean }
  touchSession: { given: { readonly hash: string; readonly at: number }; gives: null }
  endSession: { given: { readonly hash: string }; gives: null }
  addLabel: { given: Parameters<typeof addLabel>[1]; gives: string | null }
  noteSeen: { given: { readonly id: string; readonly at: number }; gives: null }
  eraseLabel: { given: Parameters<typeof eraseLabel>[1]; gives: boolean }
  pruneLabels: { given: Parameters<typeof pruneLabels>[0]; gives: number }
  putView: { given: ViewPut; gives: boolean }
  removeView: { given: ViewRemoval; gives: boolean }
  createAdminToken: { given: Signed & { readonly token: NewAdminToken }; gives: AdminToken }
  revokeAdminToken: { given: Signed & { readonly idOrName: string }; gives: AdminToken | undefined }
  touchAdminToken: { given: { readonly id: string; readonly at: number }; gives: null }
  saveLogin: { given: { readonly login: StoredLogin; readonly at: number }; gives: null }
  takeLogin: { given: { readonly hash: string; readonly at: number }; gives: string | null }
  linkIdentity: { given: Linking; gives: 'linked' | 'taken' | 'other' | 'unknown' }
  unlinkIdentity: { given: Unlinking; gives: number }
  endUserSessions: { given: { readonly user: string }; gives: null }
  createInvitation: { given: Signed & { readonly invitation: NewInvitation }; gives: Invitation }
  revokeInvitation: { given: Signed & { readonly id: string }; gives: boolean }
  admitUser: { given: Parameters<typeof admitUser>[1]; gives: 'admitted' | 'uninvited' | 'taken' }
  note: { given: { readonly row: Omit<TrailRow, 'id' | 'at'>; readonly at: number }; gives: null }
  keepConfig: { given: { readonly taken: PackedConfig; readonly after: number }; gives: boolean }
  countRefused: { given: RefusedTry & { readonly at: number }; gives: null }
  dealWith: { given: Signed & { readonly alert: string; readonly isDealt: boolean }; gives: null }
  introduce: { given: { readonly version: string; readonly revision: string }; gives: null }
  putVendorKey: { given: { readonly status: KeyStatus; readonly others: OtherKeys | undefined }; gives: null }
  decideVendorKey: { given: Signed & { readonly decision: KeyDecision }; gives: boolean }
  spendOfKey: { given: KeySpent; gives: null }
  writeEvent: { given: { readonly event: NewEvent; readonly at: number }; gives: null }
  writeNewEvent: {
    given: { readonly event: NewEvent; readonly at: number; readonly ends: EventKind | undefined }
    gives: null
  }
  arrangeEvents: { given: { readonly at: number }; gives: number }
  claimWebhook: {
    given: { readonly webhook: string; readonly at: number }
    gives: { readonly through: string } | null
  }
  writeDelivery: { given: { readonly deliveries: Deliveries; readonly at: number }; gives: boolean }
  queueRedelivery: {
    given: {
      readonly webhook: string
      readonly which: { readonly id: string } | { readonly after: string }
      readonly at: number
    }
    gives: boolean
  }
  pruneEvents: { given: Parameters<typeof pruneEvents>[0]; gives: number }
  sumUp: { given: { readonly at: number }; gives: number }
  rollUpCosts: { given: null; gives: number }
  foldCosts: { given: { readonly at: number }; gives: boolean }
  dropChanged: { given: { readonly at: number }; gives: { readonly places: number; readonly isDue: boolean } }
  writeBatchCharges: { given: BatchCharges; gives: boolean }
  rebuildCosts: { given: RebuildState | null; gives: RebuildState }
  finishRebuild: { given: RebuildState | null; gives: RebuildState }
  repairBudgets: { given: Signed & Pick<Corrections, 'corrections' | 'repairs'>; gives: boolean }
  pruneLogs: { given: { readonly until: number; readonly limit: number }; gives: number }
  /** `at`: the time of the write; each charge has its own end. */
  post: { given: Posted & { readonly at: number }; gives: null }
  batch: { given: Batch; gives: null }
  probe: { given: null; gives: null }
}

export type Change = keyof Changes
export type Given<C extends Change> = Changes[C]['given']
export type Gives<C extends Change> = Changes[C]['gives']
/** A change for the writer. */
export type Op = { [C in Change]: { readonly change: C; readonly given: Given<C> } }[Change]

const stepsByChange: { readonly [C in Change]: (identity: Scribe, given: Given<C>) => QueryProgram<Gives<C>> } = {
  hold: (identity, { request, at }) => hold(identity, request, at),
  line: (identity, { chargeId, line, upstream }) => addChargeItem(identity, chargeId, line, upstream),
  settle: (identity, { settlement, at, now }) => settle(identity, settlement, at, now),
  endEmpty,
  resolve,
  refund,
  reprice,
  sweep: (identity, { at }) => sweepAll(identity, at),
  lapse: (_self, given) => lapse(given),
  beat: (identity, { at }) => beat(identity, at),
  putObjects: (_self, given) => putObjects(given),
  endObject: (_self, given) => endObject(given),
  putSession,
  dropSession: (_self, given) => dropSession(given),
  endLiveSession,
  purgeAnswers,
  openJob,
  endJob,
  ownJobs: (identity, after) => ownJobs(identity, after),
  adopt,
  createKey,
  changeKey,
  createOwnKey,
  changeOwnKey,
  putKey,
  rotateKey,
  revokeKey,
  createUser,
  changeUser,
  setPassword,
  topUp,
  closeUser,
  eraseUser,
  eraseLate: (_self, { at }) => eraseLate(at),
  eraseLogs: (_self, { name, pseudonym }) => eraseLogs(new Map([[name, pseudonym]])),
  offerSetup: (_self, given) => offerSetup(given),
  claimSetup,
  createSession: (_self, given) => createSession(given),
  touchSession: (_self, given) => touchSession(given),
  endSession: (_self, given) => endSession(given),
  addLabel,
  noteSeen: (_self, { id, at }) => noteSeen(id, at),
  eraseLabel,
  pruneLabels: (_self, given) => pruneLabels(given),
  putView: (_self, given) => putView(given),
  removeView: (_self, given) => removeView(given),
  createAdminToken,
  revokeAdminToken,
  touchAdminToken: (_self, given) => touchAdminToken(given),
  saveLogin: (_self, given) => saveLogin(given),
  takeLogin: (_self, given) => takeLogin(given),
  linkIdentity,
  unlinkIdentity,
  endUserSessions: (_self, given) => endUserSessions(given),
  createInvitation,
  revokeInvitation,
  admitUser,
  note,
  keepConfig: (_self, given) => keepConfig(given),
  countRefused: (_self, given) => countRefused(given),
  dealWith,
  introduce,
  putVendorKey,
  decideVendorKey,
  spendOfKey,
  writeEvent: (_self, given) => addEvent(given),
  writeNewEvent: (_self, given) => addEventUnlessRepeated(given),
  arrangeEvents: (_self, { at }) => arrangeEvents(at),
  claimWebhook,
  writeDelivery,
  queueRedelivery: (_self, given) => queueRedelivery(given),
  pruneEvents: (_self, given) => pruneEvents(given),
  sumUp: (_self, { at }) => sumUp(at),
  rollUpCosts: () => rollUpCosts(),
  foldCosts: (_self, { at }) => foldCosts(at),
  dropChanged: (_self, { at }) => dropChanged(at),
  writeBatchCharges: (_self, given) => writeBatchCharges(given),
  rebuildCosts: (_self, from) => rebuildCosts(from),
  finishRebuild: (_self, from) => finishRebuild(from),
  repairBudgets,
  pruneLogs: (_self, given) => pruneLogs(given),
  post: postCharges,
  batch: writeBatch,
  probe,
}

/** The queries of a change, for a driver to run inside a transaction. */
export function stepsOf<C extends Change>(change: C, given: Given<C>, identity: Scribe): QueryProgram<Gives<C>> {
  return stepsByChange[change](identity, given)
}

/** Whether another sweep may find more, and whether `eraseLate` has something to do. */
type Swept = { readonly isMore: boolean; readonly isLate: boolean }

function* sweepAll(identity: Scribe, at: number): QueryProgram<Swept> {
  yield* takeInRows()
  return { isMore: yield* sweep(identity, at), isLate: yield* hasLate() }
}

function* writeBatch(identity: Scribe, { logs, delivered }: Batch): QueryProgram<null> {
  // Another process has written the rows of a process that was silent for too long.
  if (logs) yield* writeLogs(identity.uncompacted, { ...logs, again: logs.again || !(yield* keepLease(identity)) })
  yield* markDelivered(delivered)
  return null
}

function* note(identity: Scribe, { row, at }: Given<'note'>): QueryProgram<null> {
  yield* appendTrail(identity, { by: row.actor, at }, row.action, row.subject, row.before, row.after, row.reason)
  return null
}

function* addEvent({ event, at }: Given<'writeEvent'>): QueryProgram<null> {
  yield* writeEvent(event, at)
  return null
}

function* addEventUnlessRepeated({ event, at, ends }: Given<'writeNewEvent'>): QueryProgram<null> {
  yield* writeNewEvent(event, at, ends)
  return null
}

/** Writes and deletes 64 KiB: proves that there is free space, and leaves it for charges. */
function* probe(): QueryProgram<null> {
  const [row] = yield ask(
    'INSERT INTO probe (id, filler) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET filler = excluded.filler RETURNING id',
    new Uint8Array(65_536),
  )
  if (!row) throw new Error('the probe was not written')
  yield ask('DELETE FROM probe WHERE id = 1')
  return null
}

/** Records that the answers of these charges reached their clients completely. Has no effect on amounts. */
function* markDelivered(ids: readonly string[]): QueryProgram<void> {
  for (const id of ids) yield ask(`UPDATE charge SET delivery = 'confirmed' WHERE id = ? AND state = 'settled'`, id)
}
