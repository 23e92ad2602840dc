import type { LogRecord } from './log-record.ts'

/** What a request was waiting for, in the order in which it did. */
export const phaseNames = ['body', 'place', 'retries', 'upstream', 'passing', 'commit', 'end'] as const

/** A stretch of a request: milliseconds after it began, and how long it took. */
export type Phase = { readonly name: (typeof phaseNames)[number]; readonly from: number; readonly ms: number }

/**
 * The time of a request, split by what it was waiting for; together they are all of it. `body`: its own bytes. `place`: checks,
 * limits and the hold of its money. `retries`: upstreams or keys that refused, before the last one was called. `upstream`: the first
 * byte of the answer. `passing`: the rest of it. `commit`: its charge. `end`: its last bytes, and what settles after them.
 * What it never came to is left out; empty where an earlier version logged it.
 */
export function phasesOf({ marks, duration_ms: took }: Pick<LogRecord, 'marks' | 'duration_ms'>): readonly Phase[] {
  if (!marks) return []
  const { received_ms, asked_ms, asked_again_ms, first_byte_ms, last_byte_ms, committed_ms } = marks
  const ends: readonly (readonly [Phase['name'], number | null])[] = [
    ['body', received_ms],
    ['place', asked_ms],
    ['retries', asked_again_ms],
    ['upstream', first_byte_ms],
    ['passing', last_byte_ms],
    ['commit', committed_ms],
  ]
  const phases: Phase[] = []
  let from = 0
  let reached = -1
  for (const [i, [name, at]] of ends.entries()) {
    if (at === null) continue
    phases.push({ name, from, ms: Math.max(at - from, 0) })
    from = Math.max(at, from)
    reached = i
  }
  // What it was waiting for when it ended.
  const next = ends.slice(reached + 1).find(([name]) => name !== 'retries')
  phases.push({ name: next ? next[0] : 'end', from, ms: Math.max(took - from, 0) })
  return phases
}
