import { aheadMs } from '../../domain/budget.ts'
import { firstIdAt } from '../../util/ids.ts'
import { ask, type Query, type QueryProgram, type Row } from '../query.ts'
import { text, textOrNull } from '../rows.ts'
import type { Person } from './person.ts'
import { blank, inBounds, inChanges, inEvents, inInvitations, mentions, renameIn, type SaysWho } from './scrub.ts'

/** Rows of one statement. */
const together = 500
/** Actions on a user. A target of another kind may have the same name: a file, an upstream, an alert. */
const toUser = /^(?:user|session)\./
const ofInvitation = /^invitation\./

/** Whether rows are written or only counted, and since when rows are read. */
export type NameSearch = { readonly writes: boolean; readonly since: number }

/**
 * Renames the person in the audit trail: the actor, the target, and details about the person. The triggers of the trail
 * permit this while a value of `meta` allows it.
 */
export function* renameInTrail(person: Person, { writes, since }: NameSearch): QueryProgram<number> {
  const { name } = person
  const quoted = JSON.stringify(name)
  let count = 0
  for (let after = since === 0 ? '' : firstIdAt('trail_', since); ; ) {
    const rows = yield ask(
      `SELECT id, actor, action, subject, was, became, reason FROM trail WHERE id > ? AND (actor = ? OR subject = ?
         OR subject IN (SELECT id FROM key WHERE user_name IN (?, ?)) OR instr(coalesce(was, ''), ?) > 0
         OR instr(coalesce(became, ''), ?) > 0 OR instr(coalesce(reason, ''), ?) > 0) ORDER BY id LIMIT ${together}`,
      after,
      name,
      name,
      name,
      person.pseudonym,
      quoted,
      quoted,
      name,
    )
    for (const row of rows) {
      const left = trailWithout(row, person)
      if (!left) continue
      count++
      if (writes)
        yield ask(
          'UPDATE trail SET actor = ?, subject = ?, was = ?, became = ?, reason = ? WHERE id = ?',
          ...left,
          text(row, 'id'),
        )
    }
    const last = rows.at(-1)
    if (!last || rows.length < together) return count
    after = text(last, 'id')
  }
}

type TrailLeft = readonly [
  actor: string,
  subject: string,
  was: string | null,
  became: string | null,
  reason: string | null,
]

/** undefined if nothing in the row is about the person. */
function trailWithout(row: Row, person: Person): TrailLeft | undefined {
  const [actor, subject, reason] = [text(row, 'actor'), text(row, 'subject'), textOrNull(row, 'reason')]
  const action = text(row, 'action')
  const isThem = subject === person.name && toUser.test(action)
  const isTheirs = isThem || person.keys.has(subject)
  const saysWho = ofInvitation.test(action) ? inInvitations : inChanges
  const side = (column: string): string | null => {
    const written = textOrNull(row, column)
    return written && (isTheirs ? blank(written, person) : renameIn(written, person, saysWho))
  }
  const kept = isTheirs || (reason !== null && mentions(reason, person)) ? null : reason
  const left: TrailLeft = [
    actor === person.name ? person.pseudonym : actor,
    isThem ? person.pseudonym : subject,
    side('was'),
    side('became'),
    kept,
  ]
  const was = [actor, subject, row['was'], row['became'], reason]
  return left.some((cell, i) => cell !== was[i]) ? left : undefined
}

type InJson = {
  readonly table: string
  readonly id: string
  readonly column: string
  readonly saysWho: SaysWho
  /** The condition for rows written since a time: a search for late rows must not read all of them each minute. */
  readonly late: (person: Person, since: number) => Query
}

/** Events are almost in the order of their times: clocks of gateways differ a little. */
const lateEvents: InJson['late'] = (_person, since) =>
  ask('id > coalesce((SELECT id FROM event WHERE at < ? ORDER BY id DESC LIMIT 1), 0)', since - aheadMs)
/** The trail has each change of bounds, by its author. */
const changedBy =
  (id: string): InJson['late'] =>
  ({ name }, since) =>
    ask(`${id} IN (SELECT subject FROM trail WHERE actor = ? AND id >= ?)`, name, firstIdAt('trail_', since))

/** JSON that may name the person: events, and the author of the bounds of others. */
export const eventData = { table: 'event', id: 'id', column: 'data', saysWho: inEvents, late: lateEvents } as const
export const keyBounds = {
  table: 'key',
  id: 'id',
  column: 'bounds',
  saysWho: inBounds,
  late: changedBy('id'),
} as const
export const userBounds = {
  table: '"user"',
  id: 'name',
  column: 'key_bounds',
  saysWho: inBounds,
  late: changedBy('name'),
} as const

export function* renameInJson(
  { table, id, column, saysWho, late }: InJson,
  person: Person,
  { writes, since }: NameSearch,
): QueryProgram<number> {
  const only = since === 0 ? undefined : late(person, since)
  const rows = yield ask(
    `SELECT ${id} AS id, ${column} AS written FROM ${table}
     WHERE instr(${column}, ?) > 0 ${only ? `AND ${only.sql}` : ''}`,
    JSON.stringify(person.name),
    ...(only?.params ?? []),
  )
  let count = 0
  for (const row of rows) {
    const written = text(row, 'written')
    const renamed = renameIn(written, person, saysWho)
    if (renamed === written) continue
    count++
    if (writes) yield ask(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ?`, renamed, row['id'] ?? null)
  }
  return count
}

/** Renames the person in alerts that they dealt with. The subjects are in the events. */
export function* renameInAlerts({ name, pseudonym }: Person, { writes, since }: NameSearch): QueryProgram<number> {
  const rows = yield ask('SELECT alert FROM alert_done WHERE actor = ? AND at >= ?', name, since)
  if (writes && rows.length > 0)
    yield ask('UPDATE alert_done SET actor = ? WHERE actor = ? AND at >= ?', pseudonym, name, since)
  return rows.length
}

/**
 * Renames the person in configurations that they applied: checks all of the few hundred rows. The trigger permits this
 * under the same condition as the trail's triggers.
 */
export function* renameInConfigs({ name, pseudonym }: Person, { writes }: NameSearch): QueryProgram<number> {
  const rows = yield ask('SELECT number FROM config_history WHERE actor = ?', name)
  if (writes && rows.length > 0) yield ask('UPDATE config_history SET actor = ? WHERE actor = ?', pseudonym, name)
  return rows.length
}
