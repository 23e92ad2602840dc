import type { Anchor, ChainEnd } from '../../domain/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { chainTables } from './chain.ts'

/** The end of every chain. Must run on one snapshot. */
export function* readAnchor(at: number): QueryProgram<Anchor> {
  const database = yield* readIdentity()
  const rows = yield ask('SELECT id, position, head FROM chain ORDER BY id')
  const chains = rows.map(row => ({
    chain: text(row, 'id'),
    position: whole(row, 'position'),
    head: text(row, 'head'),
  }))
  return { time: new Date(at).toISOString(), database, chains }
}

/**
 * Compares the entries with anchors. An entry with the hash of its anchor verifies itself and, by the chain, every
 * earlier entry. A missing entry existed when the anchor was written.
 */
export function* auditAnchors(anchors: readonly Anchor[], report: (problem: string) => void): QueryProgram<void> {
  if (anchors.length === 0) return
  const database = yield* readIdentity()
  const held = new Set<string>()
  for (const { time, chains, ...anchor } of anchors) {
    if (anchor.database !== database) {
      report(`anchor of ${time}: is of another database, ${anchor.database}; this is ${database}`)
      continue
    }
    for (const end of chains) {
      const name = `${end.chain} ${end.position} ${end.head}`
      if (held.has(name)) continue
      held.add(name)
      const problem = yield* compareEnd(end)
      if (problem !== undefined) report(`anchor of ${time}: entries of ${end.chain}: ${problem}`)
    }
  }
}

function* compareEnd({ chain, position, head }: ChainEnd): QueryProgram<string | undefined> {
  let last = 0
  for (const table of chainTables) {
    const [entry] = yield ask(`SELECT hash FROM ${table} WHERE chain = ? AND position = ?`, chain, position)
    if (entry) return text(entry, 'hash') === head ? undefined : `entry ${position} differs from the anchored entry`
    const [end] = yield ask(`SELECT max(position) AS position FROM ${table} WHERE chain = ?`, chain)
    last = Math.max(last, end ? whole(end, 'position') : 0)
  }
  return `entry ${position} is missing; the last entry is ${last}`
}

function* readIdentity(): QueryProgram<string> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'identity'`)
  if (!row) throw new Error('the storage has lost its identity')
  return whole(row, 'value').toString(16).padStart(14, '0')
}
