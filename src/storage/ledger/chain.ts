import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** The end of a chain: its last position, and the hash of its content. */
export type End = { readonly position: number; readonly head: string }

/**
 * The tables with the contents of chains: entries, charge batches, entries about those charges, and payments.
 * Each position is in one of them.
 */
export const chainTables = ['entry', 'segment', 'reversal', 'topup'] as const

export function* readEnd(chain: string): QueryProgram<End> {
  const [end] = yield ask('SELECT position, head FROM chain WHERE id = ?', chain)
  return end ? { position: whole(end, 'position'), head: text(end, 'head') } : { position: 0, head: '' }
}

export function* moveEnd(chain: string, { position, head }: End): QueryProgram<void> {
  yield ask(
    `INSERT INTO chain (id, position, head) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET position = excluded.position, head = excluded.head`,
    chain,
    position,
    head,
  )
}
