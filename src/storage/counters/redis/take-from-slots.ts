import type { LimitRequest, LimitStatus } from '../../../domain/index.ts'
import type { Part } from './slots.ts'
import { NotSent, put, type Store } from './store.ts'

/** The answer of a Redis slot to a take; `away` if there was none. */
export type Answer =
  | { readonly kind: 'taken' | 'full'; readonly statuses: readonly LimitStatus[] }
  | { readonly kind: 'away'; readonly error: unknown }

/**
 * Takes from several Redis slots, which cannot be one step. The first slot alone decides whether the others are called:
 * a client that has used up its own limit takes nothing from shared limits, not even for a moment. Returns the answers
 * of the slots that were called, in order.
 */
export async function takeFromSlots(
  store: Store,
  parts: readonly [Part, ...Part[]],
  member: string,
): Promise<Answer[]> {
  const [first, ...others] = parts
  const answer = await takePart(store, first, member)
  if (answer.kind === 'full') return [answer]
  return [answer, ...(await Promise.all(others.map(part => takePart(store, part, member))))]
}

/**
 * The state of all limits after a refused take: returns the taken amounts, in one step with the read. A status without
 * an answer comes from `own`.
 */
export async function giveBack(
  store: Store,
  parts: readonly Part[],
  answers: readonly Answer[],
  member: string,
  own: readonly LimitStatus[],
): Promise<readonly LimitStatus[]> {
  const statuses = [...own]
  await Promise.all(
    parts.map(async (part, i) => {
      const answer = answers[i]
      if (answer?.kind === 'away') return
      if (answer?.kind === 'full') return put(statuses, part, answer.statuses)
      if (answer) void store.settle(member, part.demands.map(nothingOf))
      const peeked = await store.ask(part.tag, 'peek', '', part.demands).catch(() => undefined)
      if (peeked) put(statuses, part, peeked.statuses)
    }),
  )
  return statuses
}

/** The answer for each demand; for an unavailable one, that from `own`. */
export function merged(
  own: readonly LimitStatus[],
  parts: readonly Part[],
  answers: readonly Answer[],
): readonly LimitStatus[] {
  const statuses = [...own]
  for (const [i, part] of parts.entries()) {
    const answer = answers[i]
    if (answer && answer.kind !== 'away') put(statuses, part, answer.statuses)
  }
  return statuses
}

async function takePart(store: Store, { tag, demands }: Part, member: string): Promise<Answer> {
  try {
    const { taken, statuses } = await store.ask(tag, 'take', member, demands)
    return { kind: taken ? 'taken' : 'full', statuses }
  } catch (error) {
    untake(store, demands, member, error)
    return { kind: 'away', error }
  }
}

/** Returns amounts that a failed call may have taken in a store that was only slow. */
export function untake(store: Store, demands: readonly LimitRequest[], member: string, error: unknown): void {
  if (!(error instanceof NotSent)) void store.settle(member, demands.map(nothingOf))
}

function nothingOf(demand: LimitRequest): readonly [LimitRequest, number] {
  return [demand, 0]
}
