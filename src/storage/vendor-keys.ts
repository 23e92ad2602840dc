import {
  type KeyDecision,
  type KeySpending,
  type KeyStatus,
  keyReasons,
  keyStates,
  type OtherKeys,
  renewalAt,
  periodStartsAt,
  type VendorKey,
} from '../domain/index.ts'
import { formatMoney } from '../util/index.ts'
import { writeEvent } from './events/write-event.ts'
import { appendTrail, type Signed } from './people/trail.ts'
import { ask, lockRows, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, whole, wholeOrNull } from './rows.ts'
import type { Scribe, WriterIdentity } from './writer-identity.ts'

/** After this time a day or a month is not read any more. */
const keptMs = 70 * 86_400_000
/** One transaction at a time: two keys that are suspended at once would each find the other one still usable. */
const wait = `SELECT value FROM meta WHERE name = 'event_place' ${lockRows}`

type Zoned = Pick<WriterIdentity, 'zone'>

export type KeySpent = {
  readonly upstream: string
  readonly key: string
  readonly amount: number
  readonly at: number
  /** The budget of the key; an event reports when it is reached. */
  readonly bound?: { readonly budget: NonNullable<VendorKey['budget']>; readonly others: OtherKeys | undefined }
}

export function* listVendorKeys(): QueryProgram<readonly KeyStatus[]> {
  const rows = yield ask('SELECT * FROM vendor_key ORDER BY upstream, name, model')
  return rows.map(toStatus)
}

/**
 * Stores the status of a key. Of two changes, the later one wins; an administrator's wins over all others, for the time
 * that was set. Writes an event when a key is suspended or active again, once, however many processes find it.
 */
export function* putVendorKey(
  zoned: Zoned,
  { status, others }: { readonly status: KeyStatus; readonly others: OtherKeys | undefined },
): QueryProgram<null> {
  const isReportable = status.model === '' && status.state !== 'cooling'
  if (isReportable) yield ask(wait)
  const before = isReportable ? yield* findWhole(status) : undefined
  const written = yield* write(
    status,
    `AND (vendor_key.reason IS NULL OR vendor_key.reason <> 'operator' OR vendor_key.until <= excluded.changed_at)`,
  )
  if (written && isReportable) yield* addEvent(zoned, before, status, others, null)
  return null
}

/** Stores an administrator's decision: suspends or resumes a key. @returns false if it already has that status */
export function* decideVendorKey(
  scribe: Scribe,
  { decision, by, at }: Signed & { readonly decision: KeyDecision },
): QueryProgram<boolean> {
  const { upstream, key, hash, state, until, note, others } = decision
  yield ask(wait)
  const rows = yield ask(
    `SELECT * FROM vendor_key WHERE upstream = ? AND name = ? ORDER BY model ${lockRows}`,
    upstream,
    key,
  )
  const known = rows.map(toStatus)
  const before = known.find(({ model }) => model === '')
  const laterThan = (row: KeyStatus | undefined): number => Math.max(at, (row?.changedAt ?? 0) + 1)
  const own = { upstream, key, hash, since: at, tries: 0 }
  if (state === 'active') {
    const away = known.filter(one => one.state !== 'active')
    if (away.length === 0) return false
    const plain = { state, reason: null, code: null, until: null } as const
    for (const row of away) yield* write({ ...own, ...plain, model: row.model, changedAt: laterThan(row) })
  } else {
    const word = { state, reason: 'operator', code: note, until, model: '' } as const
    yield* write({ ...own, ...word, changedAt: laterThan(before) })
  }
  const after = yield* findWhole(decision)
  if (!after) return true
  const action = state === 'active' ? 'upstream_key.resume' : 'upstream_key.suspend'
  yield* appendTrail(
    scribe,
    { by, at },
    action,
    `${upstream}/${key}`,
    before ? toFields(before) : {},
    toFields(after),
    note,
  )
  yield* addEvent(scribe, before, after, others, by)
  return true
}

/** The status as fields of the trail. */
function toFields({ state, reason, code, until }: KeyStatus) {
  return { state, why: code ?? reason, until: momentText(until) }
}

function* findWhole({ upstream, key }: Pick<KeyStatus, 'upstream' | 'key'>): QueryProgram<KeyStatus | undefined> {
  const [row] = yield ask(`SELECT * FROM vendor_key WHERE upstream = ? AND name = ? AND model = ''`, upstream, key)
  return row && toStatus(row)
}

/** @returns whether it was later than the stored status */
function* write(status: KeyStatus, also = ''): QueryProgram<boolean> {
  const { upstream, key, model, hash, state, reason, code, since, until, tries, changedAt } = status
  const written = yield ask(
    `INSERT INTO vendor_key (upstream, name, model, hash, state, reason, code, since, until, tries, changed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (upstream, name, model) DO UPDATE SET hash = excluded.hash, state = excluded.state,
       reason = excluded.reason, code = excluded.code, since = excluded.since, until = excluded.until,
       tries = excluded.tries, changed_at = excluded.changed_at
       WHERE vendor_key.changed_at < excluded.changed_at ${also}
     RETURNING name`,
    upstream,
    key,
    model,
    hash,
    state,
    reason,
    code,
    Math.round(since),
    until === null ? null : Math.round(until),
    tries,
    Math.round(changedAt),
  )
  return written.length > 0
}

/** Writes an event that a key is no longer used, is used again, or was the last key of its upstream. */
function* addEvent(
  zoned: Zoned,
  before: KeyStatus | undefined,
  after: KeyStatus,
  others: OtherKeys | undefined,
  by: string | null,
): QueryProgram<void> {
  const { upstream, key, state, reason, code, since, until, changedAt } = after
  if (state === 'active') {
    if (before?.state === 'suspended')
      yield* writeEvent({ kind: 'upstream.key_resumed', data: { upstream, key, was: before.reason, by } }, changedAt)
    return
  }
  const isThere = before?.state === 'suspended' && before.hash === after.hash && !isOver(before, changedAt)
  const isSame = isThere && before.reason === reason
  if (isSame && by === null) return
  const byPerson = reason === 'operator'
  const cause = { reason, code: byPerson ? null : code, note: byPerson ? code : null }
  const moments = { since: momentText(since), until: momentText(until) }
  yield* writeEvent({ kind: 'upstream.key_suspended', data: { upstream, key, ...cause, ...moments, by } }, changedAt)
  if (others !== undefined && !isSame)
    yield* addEventIfLast(zoned, { upstream, last: key, others, at: changedAt, by: 'word' })
}

type Gone = {
  readonly upstream: string
  readonly last: string
  readonly others: OtherKeys
  readonly at: number
  /** Why the key is no longer used: it was suspended, or has spent its budget. */
  readonly by: 'word' | 'budget'
}

/**
 * Writes an event if no key of an upstream is left, because all others are suspended or have spent their budgets.
 * Reported once, in the order of writing, and not again for a key that was already unusable for the other reason.
 */
function* addEventIfLast(zoned: Zoned, { upstream, last, others, at, by }: Gone): QueryProgram<void> {
  const rows = yield ask(`SELECT * FROM vendor_key WHERE upstream = ? AND model = '' AND state = 'suspended'`, upstream)
  const suspended = rows.map(toStatus)
  const sums = yield* spentNow(zoned, upstream, at)
  const isSuspended = ({ name, hash }: OtherKeys[number]): boolean =>
    suspended.some(one => one.key === name && !isOver(one, at) && (one.hash === hash || one.reason === 'operator'))
  const isSpent = ({ name, budget }: OtherKeys[number]): boolean =>
    budget !== undefined && (sums.get(`${budget.per} ${name}`) ?? 0) >= budget.amount
  const own = others.find(({ name }) => name === last)
  const remaining = others.filter(({ name }) => name !== last)
  if (own && (by === 'word' ? isSpent(own) : isSuspended(own))) return
  if (remaining.every(one => isSuspended(one) || isSpent(one)))
    yield* writeEvent({ kind: 'upstream.exhausted', data: { upstream, last, keys: remaining.length + 1 } }, at)
}

/** The spending of an upstream's keys in total, today and this month, by period and name. */
function* spentNow({ zone }: Zoned, upstream: string, at: number): QueryProgram<ReadonlyMap<string, number>> {
  const { day, month } = periodStartsAt(at, zone)
  const rows = yield ask(
    `SELECT name, per, spent FROM vendor_key_spending WHERE upstream = ?
       AND ((per = 'total' AND begins = 0) OR (per = 'day' AND begins = ?) OR (per = 'month' AND begins = ?))`,
    upstream,
    day,
    month,
  )
  return new Map(rows.map(row => [`${text(row, 'per')} ${text(row, 'name')}`, whole(row, 'spent')]))
}

/** Whether an administrator's suspension has expired. */
function isOver({ reason, until }: KeyStatus, now: number): boolean {
  return reason === 'operator' && until !== null && until <= now
}

function momentText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

export function* readKeySpending(): QueryProgram<readonly KeySpending[]> {
  const rows = yield ask('SELECT * FROM vendor_key_spending')
  return rows.map(row => ({
    upstream: text(row, 'upstream'),
    key: text(row, 'name'),
    per: text(row, 'per') as KeySpending['per'],
    from: whole(row, 'begins'),
    spent: whole(row, 'spent'),
  }))
}

export function* spendOfKey({ zone }: Zoned, { upstream, key, amount, at, bound }: KeySpent): QueryProgram<null> {
  const { day, month } = periodStartsAt(at, zone)
  for (const [per, from] of [
    ['total', 0],
    ['day', day],
    ['month', month],
  ] as const) {
    const [row] = yield ask(
      `INSERT INTO vendor_key_spending (upstream, name, per, begins, spent) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (upstream, name, per, begins) DO UPDATE SET spent = vendor_key_spending.spent + excluded.spent
       RETURNING spent`,
      upstream,
      key,
      per,
      from,
      amount,
    )
    const spent = row ? whole(row, 'spent') : 0
    // Of all processes, only the one that reaches the budget reports it.
    if (bound?.budget.per !== per || spent < bound.budget.amount || spent - amount >= bound.budget.amount) continue
    yield ask(wait)
    const renews = momentText(renewalAt(per, at, zone))
    const sums = { spent: formatMoney(spent), amount: formatMoney(bound.budget.amount), per, renews }
    yield* writeEvent({ kind: 'upstream.key_exhausted', data: { upstream, key, ...sums } }, at)
    if (bound.others) yield* addEventIfLast({ zone }, { upstream, last: key, others: bound.others, at, by: 'budget' })
  }
  yield ask(`DELETE FROM vendor_key_spending WHERE per <> 'total' AND begins < ?`, day - keptMs)
  return null
}

function toStatus(row: Row): KeyStatus {
  const reason = textOrNull(row, 'reason')
  return {
    upstream: text(row, 'upstream'),
    key: text(row, 'name'),
    model: text(row, 'model'),
    hash: text(row, 'hash'),
    state: keyStates.find(one => one === text(row, 'state')) ?? 'active',
    reason: keyReasons.find(one => one === reason) ?? null,
    code: textOrNull(row, 'code'),
    since: whole(row, 'since'),
    until: wholeOrNull(row, 'until'),
    tries: whole(row, 'tries'),
    changedAt: whole(row, 'changed_at'),
  }
}
