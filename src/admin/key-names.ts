import type { AdminRequest } from './api.ts'
import { ownerOf } from './session-user.ts'

type KeyNames = { readonly key_names: { readonly [id: string]: string }; readonly key_sessions: readonly string[] }

/** The names of keys that the user may see, by id: an id of another user's key has no name. */
export async function namesOfKeys(request: AdminRequest, ids: readonly (string | null)[]): Promise<KeyNames> {
  const owner = ownerOf(request)
  const wanted = new Set(ids.filter(id => id !== null))
  const found = await Promise.all([...wanted].map(async id => request.parts.storage.keys.find(id)))
  const keys = found.filter(key => key !== undefined && (owner === undefined || key.user === owner))
  return {
    key_names: Object.fromEntries(keys.flatMap(key => (key?.kind === 'key' ? [[key.id, key.name] as const] : []))),
    key_sessions: keys.flatMap(key => (key?.kind === 'session' ? [key.id] : [])),
  }
}
