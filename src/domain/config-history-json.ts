import type { ConfigTaken } from './config-history.ts'

/** The JSON form of a configuration that took effect, with its time as ISO 8601. */
export function configHistoryJson({ id, at, revision, how, by, version, changes, changeCount }: ConfigTaken) {
  return { id, at: new Date(at).toISOString(), revision, how, by, version, changes, change_count: changeCount }
}
