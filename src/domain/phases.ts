import type { LogRecord } from './log-record.ts'

/** The phases of a request, in order. */
export const phaseNames = ['body', 'place', 'retries', 'upstream', 'passing', 'commit', 'end'] as const

/** A phase of a request: its start in milliseconds after the request began, and its duration. */
export type Phase = { readonly name: (typeof phaseNames)[number]; readonly from: number; readonly ms: number }

/**
 * The time of a request by phase; the phases add up to the whole. `body`: receiving its body. `place`: checks, limits
 * and the hold of its money. `retries`: upstreams or keys that refused, before the last one was called. `upstream`:
 * until the first byte of the response. `passing`: the rest of the response. `commit`: its charge. `end`: its last
 * bytes, and the settlement after them. Phases that the request did not reach are left out; empty for rows of earlier
 * versions.
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
  // The phase in which the request ended.
  const next = ends.slice(reached + 1).find(([name]) => name !== 'retries')
  phases.push({ name: next ? next[0] : 'end', from, ms: Math.max(took - from, 0) })
  return phases
}
