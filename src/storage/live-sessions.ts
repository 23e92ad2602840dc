import type { OpenSession, SeenSession, SessionFilter } from '../domain/index.ts'
import { appendTrail, type Signed } from './people/trail.ts'
import { ask, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, whole, wholeOrNull } from './rows.ts'
import type { Scribe, WriterIdentity } from './writer-identity.ts'

/** Rows with the key and the process of each session; rows of ended processes are left out. */
const seen = `SELECT s.*, k.name AS key_name, k.user_name, r.host FROM live_session s
  JOIN replica r ON r.owner = s.owner JOIN key k ON k.id = s.key_id`

export function* putSession({ owner }: Pick<WriterIdentity, 'owner'>, session: OpenSession): QueryProgram<null> {
  const { id, keyId, operation, model, upstream, openedAt } = session
  yield ask(
    `INSERT INTO live_session (id, owner, key_id, operation, model, upstream, opened_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
    id,
    owner,
    keyId,
    operation,
    model,
    upstream,
    openedAt,
  )
  return null
}

export function* dropSession(id: string): QueryProgram<null> {
  yield ask('DELETE FROM live_session WHERE id = ?', id)
  return null
}

/** @returns false if no gateway has the session */
export function* endLiveSession(
  scribe: Scribe,
  { id, reason, by, at }: Signed & { readonly id: string; readonly reason: string | null },
): QueryProgram<boolean> {
  const [row] = yield ask(`${seen} WHERE s.id = ?`, id)
  if (!row) return false
  const { keyId, model, host, endedAt } = toSession(row)
  // Two people may end the session: the first one has done so.
  if (endedAt !== null) return true
  yield ask('UPDATE live_session SET ended_at = ? WHERE id = ?', at, id)
  yield* appendTrail(scribe, { by, at }, 'live_session.end', id, { key: keyId, model, gateway: host }, null, reason)
  return true
}

export function* listLiveSessions({ keyId, limit }: SessionFilter): QueryProgram<readonly SeenSession[]> {
  const rows = yield ask(
    `${seen} ${keyId === undefined ? '' : 'WHERE s.key_id = ?'} ORDER BY s.opened_at DESC, s.id LIMIT ?`,
    ...(keyId === undefined ? [] : [keyId]),
    limit,
  )
  return rows.map(toSession)
}

export function* endedSessions(owner: string): QueryProgram<readonly string[]> {
  const rows = yield ask('SELECT id FROM live_session WHERE owner = ? AND ended_at IS NOT NULL', owner)
  return rows.map(row => text(row, 'id'))
}

/** Deletes the rows of ended processes. */
export function* sweepSessions(): QueryProgram<void> {
  yield ask('DELETE FROM live_session WHERE NOT EXISTS (SELECT 1 FROM replica r WHERE r.owner = live_session.owner)')
}

function toSession(row: Row): SeenSession {
  return {
    id: text(row, 'id'),
    keyId: text(row, 'key_id'),
    keyName: text(row, 'key_name'),
    user: text(row, 'user_name'),
    operation: text(row, 'operation'),
    model: textOrNull(row, 'model'),
    upstream: textOrNull(row, 'upstream'),
    host: text(row, 'host'),
    process: text(row, 'owner'),
    openedAt: whole(row, 'opened_at'),
    endedAt: wholeOrNull(row, 'ended_at'),
  }
}
