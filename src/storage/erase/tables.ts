import type { ErasedHow } from '../../domain/erasure.ts'
import { ask, type QueryProgram, type Value } from '../query.ts'
import { whole } from '../rows.ts'

/** Rows that one statement erases. `where` takes the person's name once for each question mark. */
type Wholesale = { readonly table: string; readonly how: ErasedHow; readonly where: string; readonly set?: string }

const theirKeys = `(SELECT id FROM key WHERE user_name = ?)`

/**
 * Runs while keys still have their owner. A sign-in at an issuer has the name in its JSON; `quoted` means the name as
 * JSON.
 */
export const wholesale: readonly (Wholesale & { readonly quoted?: true })[] = [
  { table: 'session', how: 'deleted', where: 'user_name = ?' },
  { table: 'saved_view', how: 'deleted', where: 'user_name = ?' },
  { table: 'refused_sign_in', how: 'deleted', where: 'name = ?' },
  { table: 'sign_in_link', how: 'deleted', where: 'user_name = ?' },
  { table: 'sign_in_trip', how: 'deleted', where: 'instr(told, ?) > 0', quoted: true },
  { table: 'invitation', how: 'deleted', where: 'name = ? OR made_by = ?' },
  { table: 'admin_token', how: 'deleted', where: 'made_by = ?' },
  {
    table: 'answer',
    how: 'deleted',
    where: `EXISTS (SELECT 1 FROM charge c WHERE c.id = answer.charge_id AND c.key_id IN ${theirKeys})`,
  },
  {
    table: 'charge',
    how: 'cleared',
    where: `idem_key IS NOT NULL AND key_id IN ${theirKeys}`,
    set: 'idem_key = NULL, idem_fingerprint = NULL, idem_until = NULL',
  },
  { table: 'stored_object', how: 'deleted', where: `key_id IN ${theirKeys}` },
  { table: 'live_session', how: 'deleted', where: `key_id IN ${theirKeys}` },
  { table: 'job', how: 'deleted', where: `state <> 'running' AND key_id IN ${theirKeys}` },
  {
    table: 'key',
    how: 'cleared',
    where: 'user_name = ?',
    // The spent and held amounts and the days stay: an audit compares them with the charges.
    set: `name = 'erased', group_name = NULL, hash = 'erased ' || id, old_hash = NULL, old_until = NULL, hint = '',
      status = 'revoked', expires_at = NULL, models = NULL, ips = NULL, limits = '{}', budget = NULL, budget_period = 'total',
      bounds = '{}', budget_told = NULL, last_used_at = NULL`,
  },
]

const paramsOf = ({ where, quoted }: (typeof wholesale)[number], name: string): readonly Value[] =>
  Array.from(where.matchAll(/\?/g), () => (quoted ? JSON.stringify(name) : name))

export function* countRows(rows: (typeof wholesale)[number], name: string): QueryProgram<number> {
  const [row] = yield ask(`SELECT count(*) AS count FROM ${rows.table} WHERE ${rows.where}`, ...paramsOf(rows, name))
  return row ? whole(row, 'count') : 0
}

/** @returns the number of rows */
export function* eraseRows(rows: (typeof wholesale)[number], name: string): QueryProgram<number> {
  const { table, where, set } = rows
  const count = yield* countRows(rows, name)
  if (count === 0) return 0
  const verb = set === undefined ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${set}`
  yield ask(`${verb} WHERE ${where}`, ...paramsOf(rows, name))
  return count
}
