import type { ErasedRows, Erasure, Traces } from '../../domain/erasure.ts'
import type { WaysIn } from '../../domain/sign-in.ts'
import { payerOf } from '../accounts/opening.ts'
import { balanceOf } from '../accounts/top-up.ts'
import { StorageError } from '../errors.ts'
import { revokeKey } from '../keys/write.ts'
import { appendTrail, type Signed } from '../people/trail.ts'
import { changeUser, findUser } from '../people/users.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { eraseLogs } from './logs.ts'
import {
  eventData,
  keyBounds,
  renameInAlerts,
  renameInConfigs,
  renameInJson,
  renameInTrail,
  userBounds,
} from './names.ts'
import type { Person } from './person.ts'
import { countRows, eraseRows, wholesale } from './tables.ts'
import { readPass, readTail } from '../costs/plain.ts'
import { lengthOfSpan, numbersOf } from '../costs/spans.ts'

/** How long after an erasure requests in flight without a hold may still write rows of the log. */
const lateMs = 24 * 3_600_000

/** The tables whose rows are erased first: they end the sessions and tokens of a disabled user. */
const goFirst = new Set(['session', 'invitation', 'admin_token'])

/** Tables with rows that a response in flight writes; their keys have the pseudonym by then. */
const comeLate = new Set(['answer', 'charge', 'job', 'stored_object'])

type Naming = Signed & { readonly name: string }

/**
 * The step before a person is erased: disables the user and revokes the keys, in its own transaction, so that every
 * gateway knows before running requests are checked. @returns the rows of sessions, invitations and admin tokens that
 * end with it; null if there is no such user
 * @throws StorageError `erases_self`, `erases_local`, `last_admin`
 */
export function* closeUser(
  identity: Scribe,
  { name, by, at, ways }: Naming & { readonly ways: WaysIn | null },
): QueryProgram<readonly ErasedRows[] | null> {
  if (!(yield* findUser(name))) return null
  if (name === by) throw new StorageError('erases_self', { name })
  if (name === 'local') throw new StorageError('erases_local')
  const tables: ErasedRows[] = []
  for (const rows of wholesale)
    if (goFirst.has(rows.table)) tables.push({ table: rows.table, how: rows.how, rows: yield* countRows(rows, name) })
  yield* changeUser(identity, { name, change: { status: 'disabled' }, ways, by, at })
  const keys = yield ask(`SELECT id FROM key WHERE user_name = ? AND status <> 'revoked' ORDER BY id`, name)
  for (const key of keys) yield* revokeKey(identity, { id: text(key, 'id'), by, at })
  return tables
}

/**
 * Erases everything except the log, in one transaction. @returns how many requests and jobs have not ended: then
 * nothing was done
 */
export function* eraseUser(identity: Scribe, { name, by, at }: Naming): QueryProgram<Erasure | number | undefined> {
  // Of two erasures, one waits for the other; the triggers of the audit trail check this value.
  yield ask(`UPDATE meta SET value = 1 WHERE name = 'erasing'`)
  // From here on no key is created for the user.
  yield ask('UPDATE "user" SET name = name WHERE name = ?', name)
  if (!(yield* findUser(name))) return undefined
  const running = yield* countRunning(name)
  if (running > 0) {
    yield ask(`UPDATE meta SET value = 0 WHERE name = 'erasing'`)
    return running
  }
  const person = yield* nameAnew(name, identity.ids.next('erased-', at))
  const kept = yield* countKept(name)
  // Runs first: the rows of the user's keys are found by the owner of the keys.
  const tables = [...(yield* renameAll(person, { writes: true, since: 0 }))]
  for (const rows of wholesale) tables.push({ table: rows.table, how: rows.how, rows: yield* eraseRows(rows, name) })
  yield* renameUser(person, at)
  tables.push({ table: 'user', how: 'renamed', rows: 1 }, yield* eraseChanges(name))
  yield* appendTrail(identity, { by, at }, 'user.erase', person.pseudonym, null, null)
  yield ask(`UPDATE meta SET value = 0 WHERE name = 'erasing'`)
  return { pseudonym: person.pseudonym, tables, kept }
}

/**
 * The row by which gateways learn which user changed contains the name; without it they assume that every user changed.
 */
function* eraseChanges(name: string): QueryProgram<ErasedRows> {
  const rows = yield ask('DELETE FROM key_change WHERE user_name = ? RETURNING revision', name)
  return { table: 'key_change', how: 'deleted', rows: rows.length }
}

function* nameAnew(name: string, pseudonym: string): QueryProgram<Person> {
  const keys = yield ask('SELECT id FROM key WHERE user_name IN (?, ?)', name, pseudonym)
  return { name, pseudonym, keys: new Set(keys.map(row => text(row, 'id'))) }
}

function* renameAll(
  person: Person,
  options: { readonly writes: boolean; readonly since: number },
): QueryProgram<readonly ErasedRows[]> {
  const bounds = (yield* renameInJson(keyBounds, person, options)) + (yield* renameInJson(userBounds, person, options))
  return [
    { table: 'trail', how: 'renamed', rows: yield* renameInTrail(person, options) },
    { table: 'event', how: 'renamed', rows: yield* renameInJson(eventData, person, options) },
    { table: 'alert_done', how: 'renamed', rows: yield* renameInAlerts(person, options) },
    { table: 'config_history', how: 'renamed', rows: yield* renameInConfigs(person, options) },
    { table: 'bounds of others', how: 'renamed', rows: bounds },
  ]
}

/** Referenced rows come first. Payments stay in the row: an audit compares the entries with it. */
function* renameUser({ name, pseudonym }: Person, at: number): QueryProgram<void> {
  yield ask(
    `INSERT INTO "user" (name, group_name, role, status, created_at, balance, erased_at, booked_as, late_until)
       SELECT CAST(? AS TEXT), group_name, 'user', 'disabled', created_at, balance, CAST(? AS BIGINT), name, CAST(? AS BIGINT)
       FROM "user" WHERE name = ?`,
    pseudonym,
    at,
    at + lateMs,
    name,
  )
  yield ask('UPDATE key SET user_name = ? WHERE user_name = ?', pseudonym, name)
  yield ask('DELETE FROM "user" WHERE name = ?', name)
}

function* countRunning(name: string): QueryProgram<number> {
  const theirs = 'key_id IN (SELECT id FROM key WHERE user_name = ?)'
  const [row] = yield ask(
    `SELECT (SELECT count(*) FROM charge WHERE state = 'reserved' AND ${theirs}) +
       (SELECT count(*) FROM job WHERE state = 'running' AND ${theirs}
          AND NOT EXISTS (SELECT 1 FROM charge c WHERE c.id = job.id AND c.state = 'reserved')) AS count`,
    name,
    name,
  )
  return row ? whole(row, 'count') : 0
}

function* countKept(name: string): QueryProgram<Traces['kept']> {
  const charges = yield* countCharges(name)
  const entries = function* (credit: string): QueryProgram<number> {
    const [row] = yield ask('SELECT count(*) AS count FROM topup WHERE credit = ?', credit)
    return row ? whole(row, 'count') : 0
  }
  return {
    charges,
    topups: yield* entries(balanceOf(name)),
    openings: yield* entries(payerOf({ kind: 'user', name })),
  }
}

/** The rows that an erasure would change, by the same queries. Changes nothing. */
export function* findTraces(name: string): QueryProgram<Traces | undefined> {
  if (!(yield* findUser(name))) return undefined
  const person = yield* nameAnew(name, name)
  // Any other name works: only differences are counted.
  const tables = [...(yield* renameAll({ ...person, pseudonym: `${name} erased` }, { writes: false, since: 0 }))]
  for (const rows of wholesale) tables.push({ table: rows.table, how: rows.how, rows: yield* countRows(rows, name) })
  const [changes] = yield ask('SELECT count(*) AS count FROM key_change WHERE user_name = ?', name)
  tables.push(
    { table: 'user', how: 'renamed', rows: 1 },
    { table: 'key_change', how: 'deleted', rows: whole(changes ?? {}, 'count') },
    { table: 'log', how: 'renamed', rows: yield* eraseLogs(new Map([[name, name]]), false) },
  )
  return { tables, kept: yield* countKept(name), running: yield* countRunning(name) }
}

/** The pseudonym of an erased user, as long as the name is stored. */
export function* findPseudonym(name: string): QueryProgram<string | null> {
  const [row] = yield ask('SELECT name FROM "user" WHERE booked_as = ?', name)
  return row ? text(row, 'name') : null
}

/** Such a user also has the earlier name, which is in an index: without it all users are read. */
const isLate = 'booked_as IS NOT NULL AND late_until IS NOT NULL'

/** Whether a user was erased so recently that rows of theirs may still arrive. */
export function* hasLate(): QueryProgram<boolean> {
  return (yield ask(`SELECT name FROM "user" WHERE ${isLate} LIMIT 1`)).length > 0
}

/**
 * Erases rows that arrived late, or that a killed process left in the log. After a day no more rows arrive, and a name
 * that is not in the ledger is deleted.
 */
export function* eraseLate(at: number): QueryProgram<null> {
  const erased = yield ask(`SELECT name, booked_as, erased_at, late_until FROM "user" WHERE ${isLate}`)
  if (erased.length === 0) return null
  yield ask(`UPDATE meta SET value = 1 WHERE name = 'erasing'`)
  for (const row of erased) {
    const [pseudonym, name] = [text(row, 'name'), text(row, 'booked_as')]
    const person = yield* nameAnew(name, pseudonym)
    yield* renameAll(person, { writes: true, since: whole(row, 'erased_at') })
    yield* eraseChanges(name)
    for (const rows of wholesale) if (comeLate.has(rows.table)) yield* eraseRows(rows, pseudonym)
  }
  yield ask(`UPDATE meta SET value = 0 WHERE name = 'erasing'`)
  const left = yield* eraseLogs(new Map(erased.map(row => [text(row, 'booked_as'), text(row, 'name')])))
  if (left > 0) return null
  for (const row of erased)
    if (whole(row, 'late_until') <= at) yield* forgetName(text(row, 'name'), text(row, 'booked_as'))
  return null
}

function* forgetName(pseudonym: string, name: string): QueryProgram<void> {
  const [booked] = yield ask(
    `SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM account WHERE kind IN ('user', 'balance') AND name = ?)
       OR EXISTS (SELECT 1 FROM account WHERE kind = 'end_user' AND substr(name, instr(name, ' ') + 1) = ?)
       OR EXISTS (SELECT 1 FROM topup WHERE credit = ? OR actor = ?) OR EXISTS (SELECT 1 FROM cost_place WHERE user_name = ?)
       OR EXISTS (SELECT 1 FROM reversal WHERE actor = ?) OR EXISTS (SELECT 1 FROM entry WHERE actor = ?)`,
    name,
    name,
    balanceOf(name),
    name,
    name,
    name,
    name,
  )
  yield ask('UPDATE "user" SET late_until = NULL, booked_as = ? WHERE name = ?', booked ? name : null, pseudonym)
}

/**
 * How many charges of a user are in the ledger: those in the sums, by quarters of an hour (each charge is in one), and
 * those after them.
 */
function* countCharges(user: string): QueryProgram<number> {
  const { number: pass } = yield* readPass()
  const { sums } = yield* readTail(pass)
  const [row] = yield ask(
    `SELECT coalesce(sum(firsts), 0) AS count FROM cost_place_sum WHERE span >= ? AND span < ? AND ${lengthOfSpan} = 0
      AND place IN (SELECT id FROM cost_place WHERE user_name = ? AND detail = 'user')`,
    ...numbersOf(pass),
    user,
  )
  let count = row ? whole(row, 'count') : 0
  for (const { place, counts } of sums.all()) if (place.user_name === user) count += counts.firsts
  return count
}
