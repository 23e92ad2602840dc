import type { AnswerPurge, PurgeScope } from '../domain/index.ts'
import { appendTrail, type Signed } from './people/trail.ts'
import { ask, type QueryProgram } from './query.ts'
import { text, whole } from './rows.ts'
import type { Scribe } from './writer-identity.ts'

export type Purging = Signed & { readonly scope: PurgeScope; readonly reason: string | null }

/** Ends the use of cached answers in scope. A purge of everything replaces all earlier ones. */
export function* purgeAnswers(scribe: Scribe, { scope, by, at, reason }: Purging): QueryProgram<null> {
  const { model = '', keyId = '' } = scope
  if (model === '' && keyId === '') yield ask('DELETE FROM answer_purge WHERE at <= ?', at)
  yield ask(
    `INSERT INTO answer_purge (model, key_id, at) VALUES (?, ?, ?)
     ON CONFLICT (model, key_id) DO UPDATE SET at = excluded.at WHERE answer_purge.at < excluded.at`,
    model,
    keyId,
    at,
  )
  const became = { model: model === '' ? null : model, key: keyId === '' ? null : keyId }
  yield* appendTrail(scribe, { by, at }, 'answer_cache.purge', model || keyId || 'all', null, became, reason)
  return null
}

export function* listPurges(): QueryProgram<readonly AnswerPurge[]> {
  const rows = yield ask('SELECT model, key_id, at FROM answer_purge')
  return rows.map(row => ({ model: text(row, 'model'), keyId: text(row, 'key_id'), at: whole(row, 'at') }))
}
