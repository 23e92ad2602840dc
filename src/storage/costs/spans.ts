/**
 * Lengths of spans, in quarters of an hour: a quarter, 4 hours, a UTC day, 4 days, 16 days. A few dozen spans cover
 * any range of days in any time zone.
 */
const lengths = [1, 16, 96, 384, 1_536] as const
/** The factor for the index of the length in a span's number: there is room for a few more lengths. */
const lengthsMost = 8
/** The distance between the numbers of two passes over the ledger: queries read one pass while another is built. */
const passStep = 2 ** 40

/** The passes alternate. */
export type Pass = 0 | 1

/** The number of a span: `pass · 2^40 + 8 · (quarter ÷ length) + index of the length`, as in columns named `span`. */
function spanOf(quarter: number, place: number, pass: Pass): number {
  return pass * passStep + Math.floor(quarter / (lengths[place] as number)) * lengthsMost + place
}

/** The numbers of all spans that contain a quarter: one of each length. */
export function spansAround(quarter: number, pass: Pass): readonly number[] {
  return lengths.map((_, place) => spanOf(quarter, place, pass))
}

/** The fewest spans that cover the quarters from `from` (inclusive) to `to` (exclusive). */
export function spansOver(from: number, to: number, pass: Pass): readonly number[] {
  const spans: number[] = []
  for (let at = from; at < to; ) {
    const place = lengths.findLastIndex(length => at % length === 0 && at + length <= to)
    spans.push(spanOf(at, place, pass))
    at += lengths[place] as number
  }
  return spans
}

/** The span numbers of a pass: `from` (inclusive) to `to` (exclusive). */
export function numbersOf(pass: Pass): readonly [from: number, to: number] {
  return [pass * passStep, (pass + 1) * passStep]
}

/** The column `length` of `span`, as SQL: the index of its length. */
export const lengthOfSpan = `span % ${lengthsMost}`
export const lengthCount: number = lengths.length
/** The index of days among the lengths. */
export const dayLength = 2

/** The day number of a one-day span, since the epoch. */
export function dayOfSpan(span: number, pass: Pass): number {
  return Math.floor((span - pass * passStep) / lengthsMost)
}

/** The quarter of a one-quarter span. Its span has the largest number of all spans at that time. */
export function quarterOfSpan(span: number, pass: Pass): number {
  return Math.floor((span - pass * passStep) / lengthsMost)
}
