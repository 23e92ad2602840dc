import type { Key } from '../domain/index.ts'
import type { AdminRequest } from './api.ts'
import { ownerOf } from './session-user.ts'

type KeyNames = { readonly key_names: { readonly [id: string]: string }; readonly key_sessions: readonly string[] }

/** The keys with these ids that the user may see; other users' keys are left out. */
export async function findKeys(request: AdminRequest, ids: readonly (string | null)[]): Promise<readonly Key[]> {
  const owner = ownerOf(request)
  const wanted = new Set(ids.filter(id => id !== null))
  const keys = await Promise.all([...wanted].map(async id => request.parts.storage.keys.find(id)))
  return keys.flatMap(key => (key && (owner === undefined || key.user === owner) ? [key] : []))
}

/** The names of keys that the user may see, by id; other users' keys are left out. */
export async function namesOfKeys(request: AdminRequest, ids: readonly (string | null)[]): Promise<KeyNames> {
  const keys = await findKeys(request, ids)
  return {
    key_names: Object.fromEntries(keys.flatMap(({ id, kind, name }) => (kind === 'key' ? [[id, name] as const] : []))),
    key_sessions: keys.flatMap(({ id, kind }) => (kind === 'session' ? [id] : [])),
  }
}
