/**
 * Lengths of what costs are added up by, in quarters of an hour: a quarter, 4 hours, a day of UTC, 4 days, 16 days. Any range of
 * days is a few dozen of them, wherever its days begin.
 */
const lengths = [1, 16, 96, 384, 1_536] as const
/** A span's number says its length too: room for a few more than there are. */
const lengthsMost = 8
/** Each pass over the ledger has numbers of its own: one is read while another is made. */
const passStep = 2 ** 40

/** Of two that take turns. */
export type Pass = 0 | 1

/** A span by its number: `pass · 2^40 + 8 · (quarter ÷ length) + place of the length`, as columns named `span` have it. */
function spanOf(quarter: number, place: number, pass: Pass): number {
  return pass * passStep + Math.floor(quarter / (lengths[place] as number)) * lengthsMost + place
}

/** All spans that a quarter is in: one of each length. */
export function spansAround(quarter: number, pass: Pass): readonly number[] {
  return lengths.map((_, place) => spanOf(quarter, place, pass))
}

/** The fewest spans that are the quarters from one on and before another. */
export function spansOver(from: number, to: number, pass: Pass): readonly number[] {
  const spans: number[] = []
  for (let at = from; at < to; ) {
    const place = lengths.findLastIndex(length => at % length === 0 && at + length <= to)
    spans.push(spanOf(at, place, pass))
    at += lengths[place] as number
  }
  return spans
}

/** Numbers of a pass: from the first on, and before the last. */
export function numbersOf(pass: Pass): readonly [from: number, to: number] {
  return [pass * passStep, (pass + 1) * passStep]
}

/** The column `length` of `span`, as SQL: which of the lengths it is of. */
export const lengthOfSpan = `span % ${lengthsMost}`
export const lengthCount: number = lengths.length
/** The place of days among the lengths. */
export const dayLength = 2

/** The number of the day of a span that is one, since the epoch. */
export function dayOfSpan(span: number, pass: Pass): number {
  return Math.floor((span - pass * passStep) / lengthsMost)
}

/** The quarter of a span that is one: of all spans of a time they have the largest numbers. */
export function quarterOfSpan(span: number, pass: Pass): number {
  return Math.floor((span - pass * passStep) / lengthsMost)
}
