import { ask, type QueryProgram } from '../query.ts'

/** Notes that answers reached their callers wholly. Says nothing about money. */
export function* markDelivered(ids: readonly string[]): QueryProgram<void> {
  for (const id of ids) yield ask(`UPDATE charge SET delivery = 'confirmed' WHERE id = ? AND state = 'settled'`, id)
}
