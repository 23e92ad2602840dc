import { firstIdAt, timeOfId } from '../../util/ids.ts'
import { firstAt } from '../first-at.ts'

/** The prefix of request ids, which are also the ids of their charges. */
const prefix = 'req_'

/** A charge whose request began earlier than this before its end has rows of its own. */
export const ageMaxMs = 60_000
/** How far a clock may be behind the ids that were created with it. */
export const aheadMs = 2_000
/**
 * The longest time between the oldest request of a segment and its newest: a search for a charge reads only the batches
 * that end within it.
 */
export const reachMs = 2 * ageMaxMs
/** Sorts after every id. */
export const afterAll = '~'

/** When the request of a charge began; NaN for an id that no gateway has created. */
export function begunAt(id: string): number {
  return timeOfId(prefix, id)
}

/** Later than every time that an id can contain. */
const endMs = 32 ** 10

/**
 * The start of the request whose id sorts directly at or before a text, which need not be an id; -1 for text before all
 * ids.
 */
export function standsAt(text: string): number {
  const begun = begunAt(text)
  if (!Number.isNaN(begun)) return begun
  return firstAt(endMs, ms => firstIdAt(prefix, ms) <= text) - 1
}

/** The bound for the last id of a batch that has an id which sorts at or before `id`. */
export function reachOf(id: string): string {
  const at = begunAt(id)
  return Number.isNaN(at) ? afterAll : firstIdAt(prefix, at + reachMs + 1)
}
