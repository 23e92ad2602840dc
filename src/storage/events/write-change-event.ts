import { auditedMembers } from '../../domain/shapes/key.ts'
import type { EventData, NewEvent } from '../../domain/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { textOrNull } from '../rows.ts'
import { writeEvent } from './write-event.ts'

/** The event of a change of the audit trail, by its action. */
const kinds: { readonly [action: string]: NewEvent['kind'] } = {
  'key.create': 'key.created',
  'key.change': 'key.changed',
  'key.rotate': 'key.changed',
  'key.revoke': 'key.revoked',
  'user.create': 'user.created',
  'user.setup': 'user.created',
  'user.change': 'user.changed',
  'user.password': 'user.changed',
  'user.erase': 'user.erased',
}

export type ChangeOfTrail = {
  readonly by: string
  readonly at: number
  readonly action: string
  readonly subject: string
  /** Names of the settings that differ. */
  readonly changed: readonly string[]
}

/** Writes the author of a change and the names of the differences, without values, so that no secret is among them. */
export function* writeChangeEvent({ by, at, action, subject, changed }: ChangeOfTrail): QueryProgram<void> {
  const kind = kinds[action]
  if (kind === undefined) return
  const whose = action.startsWith('key.') ? yield* ownerOf(subject) : { user: subject }
  const names = changed.map(name => (Object.hasOwn(auditedMembers, name) ? (auditedMembers[name]?.name ?? name) : name))
  yield* writeEvent({ kind, data: { ...whose, action, by, changed: names } }, at)
}

function* ownerOf(keyId: string): QueryProgram<EventData> {
  const [row] = yield ask('SELECT user_name FROM key WHERE id = ?', keyId)
  return { key_id: keyId, user: row ? textOrNull(row, 'user_name') : null }
}
