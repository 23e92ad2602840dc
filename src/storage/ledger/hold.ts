import type { ChargeFacts, HoldRequest, HoldResult } from '../../domain/index.ts'
import { type BudgetPeriod, isWindow, rollingOf } from '../../domain/budget-period.ts'
import { aheadMs, isAroundMidnight, renewalAt } from '../../domain/budget.ts'
import { holdLevels } from '../accounts/hold.ts'
import { writeHeld } from '../accounts/held-budgets.ts'
import { writeKeyEvents } from '../accounts/account-events.ts'
import { lockKeys } from '../keys/lock.ts'
import { foundColumns, left, leftParams, spentInWindow, windowParams } from '../keys/spend.ts'
import { ask, lockRows, type Row, type QueryProgram } from '../query.ts'
import { text, toAnswer, whole, wholeOrNull } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { factColumns, factValues } from './fact-values.ts'

const insertReserved = `INSERT INTO charge (${factColumns.join(', ')}, rule, state, hold, owner, epoch, idem_key,
    idem_fingerprint, created_at, levels) VALUES (${factColumns.map(() => '?').join(', ')}, ?, 'reserved', ?, ?, ?, ?, ?, ?, ?)`

/** The validity of an idempotency key and its stored response. */
export const idempotencyMs = 24 * 3_600_000

/**
 * Opens a charge and takes its hold from the budgets of the key, its user and its group, or returns the reason for a
 * refusal. One statement both tests and changes a budget, so two requests cannot spend the same money.
 */
export function* hold(identity: WriterIdentity, request: HoldRequest, at: number): QueryProgram<HoldResult> {
  const { facts, idempotency, levels = [] } = request
  if (idempotency !== null) {
    const taken = yield* findTaken(facts, idempotency, at)
    if (taken) return taken
  }
  if (isAroundMidnight(at, identity.zone)) yield* lockKeys([facts.keyId])
  const [plain] = yield ask(
    `UPDATE key SET held = held + ? WHERE id = ? AND (budget IS NULL OR budget_soft = 1 OR (${isPlain} AND ${left} >= ?)) RETURNING ${foundColumns}`,
    request.hold,
    facts.keyId,
    ...leftParams(identity, at),
    request.hold,
  )
  const key = plain ?? (yield* holdOfWindow(identity, request, at))
  if (!key) {
    const refusal = yield* explainRefusal(identity, request, at)
    // The budget was raised between the two statements.
    return refusal ?? (yield* hold(identity, request, at))
  }
  yield* writeKeyEvents(identity, [key], facts.currency, at)
  if (levels.length > 0) {
    const refusal = yield* holdLevels(identity, levels, { amount: request.hold, currency: facts.currency, at })
    if (refusal) {
      yield ask('UPDATE key SET held = held - ? WHERE id = ?', request.hold, facts.keyId)
      return refusal
    }
  }
  yield ask(
    insertReserved,
    ...factValues(facts),
    JSON.stringify(facts.rule),
    request.hold,
    identity.owner,
    identity.epoch,
    idempotency?.key ?? null,
    idempotency?.fingerprint ?? null,
    at,
    writeHeld(levels, key['budget'] !== null),
  )
  return { kind: 'held' }
}

const isPlain = `budget_period IN ('total', 'day', 'month')`
const leftOfWindow = `(budget - held - ${spentInWindow})`

/**
 * The period of a key's budget. Locks the key's row: the first charge of a day moves the previous day to other rows.
 */
function* lockedPeriod(keyId: string): QueryProgram<BudgetPeriod> {
  const [key] = yield ask(`SELECT budget_period FROM key WHERE id = ? ${lockRows}`, keyId)
  if (!key) throw new Error(`there is no key ${keyId} to hold money of`)
  return text(key, 'budget_period') as BudgetPeriod
}

/** Takes the hold of a key with a window budget; undefined if the budget has no window, or too little is left. */
function* holdOfWindow(
  identity: WriterIdentity,
  { facts: { keyId }, hold: wanted }: HoldRequest,
  at: number,
): QueryProgram<Row | undefined> {
  const period = yield* lockedPeriod(keyId)
  if (!isWindow(period)) return undefined
  const [key] = yield ask(
    `UPDATE key SET held = held + ? WHERE id = ? AND ${leftOfWindow} >= ? RETURNING ${foundColumns}`,
    wanted,
    keyId,
    ...windowParams(identity, period, at),
    wanted,
  )
  return key
}

/** The charge that already has the idempotency key. A charge that ended more than 24 hours ago frees the key. */
function* findTaken(
  facts: ChargeFacts,
  idempotency: NonNullable<HoldRequest['idempotency']>,
  at: number,
): QueryProgram<HoldResult | undefined> {
  const [charge] = yield ask(
    'SELECT id, state, idem_fingerprint, created_at, idem_until FROM charge WHERE key_id = ? AND operation = ? AND idem_key = ?',
    facts.keyId,
    facts.operation,
    idempotency.key,
  )
  if (!charge) return undefined
  const hasEnded = text(charge, 'state') === 'settled' || text(charge, 'state') === 'voided'
  if (hasEnded && (yield* takenUntil(charge, at)) <= at) {
    yield ask('UPDATE charge SET idem_key = NULL, idem_fingerprint = NULL WHERE id = ?', text(charge, 'id'))
    return undefined
  }
  return yield* describeTaken(charge, idempotency.fingerprint)
}

/**
 * The end of a charge's idempotency key. A charge from a clock that was ahead would keep it too long, so it keeps it
 * for 24 hours from the next use.
 */
function* takenUntil(charge: Row, at: number): QueryProgram<number> {
  const createdAt = whole(charge, 'created_at')
  const known = wholeOrNull(charge, 'idem_until')
  if (createdAt <= at + aheadMs) return createdAt + idempotencyMs
  if (known !== null && known <= at + idempotencyMs) return known
  yield ask('UPDATE charge SET idem_until = ? WHERE id = ?', at + idempotencyMs, text(charge, 'id'))
  return at + idempotencyMs
}

function* describeTaken(charge: Row, fingerprint: string): QueryProgram<HoldResult> {
  const chargeId = text(charge, 'id')
  if (text(charge, 'idem_fingerprint') !== fingerprint) return { kind: 'mismatch', chargeId }
  if (text(charge, 'state') === 'reserved') return { kind: 'running', chargeId }
  const [answer] = yield ask('SELECT status, headers, body FROM answer WHERE charge_id = ?', chargeId)
  return { kind: 'ended', chargeId, answer: answer ? toAnswer(answer) : null }
}

function* explainRefusal(
  identity: WriterIdentity,
  { facts: { keyId, currency }, hold: wanted }: HoldRequest,
  at: number,
): QueryProgram<Extract<HoldResult, { kind: 'overdrawn' }> | undefined> {
  const per = yield* lockedPeriod(keyId)
  const [key] = yield ask(
    `SELECT ${isWindow(per) ? leftOfWindow : left} AS available, ${foundColumns} FROM key WHERE id = ?`,
    ...(isWindow(per) ? windowParams(identity, per, at) : leftParams(identity, at)),
    keyId,
  )
  if (!key) throw new Error(`there is no key ${keyId} to hold money of`)
  const renewsAt = renewalAt(per, at, identity.zone)
  const availableMicros = Math.max(0, wholeOrNull(key, 'available') ?? Infinity)
  if (availableMicros >= wanted) return undefined
  yield* writeKeyEvents(identity, [key], currency, at, 'refused')
  const own = { level: 'key', availableMicros, heldMicros: whole(key, 'held'), renewsAt, ...rollingOf(per) } as const
  return { kind: 'overdrawn', ...own }
}
