import { firstIdAt, timeOfId } from '../../util/ids.ts'
import { firstAt } from '../../util/first-at.ts'

/** The prefix of request ids, which are also the ids of their charges. */
const prefix = 'req_'

/**
 * The maximum time from the start of a request to its end, for a charge in a batch; longer requests have separate
 * rows.
 */
export const ageMaxMs = 60_000
/** The maximum difference by which a clock may be earlier than the ids created with it. */
export const aheadMs = 2_000
/**
 * The maximum time between the oldest and the newest request of a charge batch: a search for a charge reads only the
 * charge batches that end within it.
 */
export const reachMs = 2 * ageMaxMs
/** Sorts after every id. */
export const afterAll = '~'

/** The start of a charge's request; NaN for an id that no gateway has created. */
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

/** The upper bound for the last id of a charge batch with an id that sorts at or before `id`. */
export function reachOf(id: string): string {
  const at = begunAt(id)
  return Number.isNaN(at) ? afterAll : firstIdAt(prefix, at + reachMs + 1)
}
