/**
 * Lengths of spans, in quarters of an hour: a quarter, 4 hours, a UTC day, 4 days, 16 days. A few dozen spans cover
 * any range of days in any time zone. Each length is a multiple of the one before.
 */
const lengths = [1, 16, 96, 384, 1_536] as const
/** The factor for the index of the length in a span's number: there is room for a few more lengths. */
const lengthsMost = 8
/** The distance between the numbers of two passes over the ledger: queries read one pass while another is built. */
const passStep = 2 ** 40

/** The passes alternate. */
export type PassNumber = 0 | 1

/**
 * A pass over the ledger. Sums of every quarter are complete. A longer span is written only once it is over, because a
 * charge then changes one row of a sum instead of five.
 */
export type Pass = {
  readonly number: PassNumber
  /** The end (a quarter, a multiple of 16) of the time that has longer spans: those that end at or before it. */
  readonly folded: number
}

/** A pass for queries. `recent`: the quarters after `folded` that have sums, in order. */
export type ReadPass = Pass & { readonly recent: readonly number[] }

/** The number of a span: `pass · 2^40 + 8 · (quarter ÷ length) + index of the length`, as in columns named `span`. */
function spanOf(quarter: number, place: number, pass: PassNumber): number {
  return pass * passStep + Math.floor(quarter / (lengths[place] as number)) * lengthsMost + place
}

/** The numbers of the spans that contain a quarter and are kept: the quarter, and each longer span that is over. */
export function spansAround(quarter: number, { number, folded }: Pass): readonly number[] {
  const kept = lengths.filter(length => length === 1 || quarter - (quarter % length) + length <= folded)
  return kept.map((_, place) => spanOf(quarter, place, number))
}

/** The fewest spans with sums that cover the quarters from `from` (inclusive) to `to` (exclusive). */
export function spansOver(from: number, to: number, { number, folded, recent }: ReadPass): readonly number[] {
  const spans: number[] = []
  const end = Math.min(to, folded)
  for (let at = from; at < end; ) {
    const place = lengths.findLastIndex(length => at % length === 0 && at + length <= end)
    spans.push(spanOf(at, place, number))
    at += lengths[place] as number
  }
  for (const quarter of recent) if (quarter >= from && quarter < to) spans.push(spanOf(quarter, 0, number))
  return spans
}

/** The span numbers of a pass: `from` (inclusive) to `to` (exclusive). */
export function numbersOf(pass: PassNumber): readonly [from: number, to: number] {
  return [pass * passStep, (pass + 1) * passStep]
}

/** The span numbers of a pass for quarters from `quarter` on, in a range that also has a few longer spans. */
export function quartersFrom(quarter: number, pass: PassNumber): readonly [from: number, to: number] {
  return [spanOf(quarter, 0, pass), (pass + 1) * passStep]
}

/** A longer span, and the spans of the next shorter length that it consists of. */
export type Whole = {
  readonly span: number
  readonly parts: readonly number[]
}

/** The longer spans that end at a quarter, the shortest first. */
export function wholesAt(end: number, pass: PassNumber): readonly Whole[] {
  const ending = lengths.slice(1).filter(length => end % length === 0)
  return ending.map((length, i) => {
    const shorter = lengths[i] as number
    const parts = Array.from({ length: length / shorter }, (_, n) => spanOf(end - length + n * shorter, i, pass))
    return { span: spanOf(end - length, i + 1, pass), parts }
  })
}

/**
 * The next quarter after `folded` at which longer spans end that may have sums. `next`: the first quarter from `folded`
 * on that has sums; undefined if none has.
 */
export function nextEnd(folded: number, next: number | undefined): number | undefined {
  const [, shortest, ...longer] = lengths
  const ends = next === undefined ? [] : [next - (next % shortest) + shortest]
  // A longer span that begins before `folded`.
  for (const length of longer) if (folded % length !== 0) ends.push(folded - (folded % length) + length)
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** The column `length` of `span`, as SQL: the index of its length. */
export const lengthOfSpan = `span % ${lengthsMost}`

/** The index of the length of a span. */
export function lengthOf(span: number): number {
  return span % lengthsMost
}

export const lengthCount: number = lengths.length
/** The index of days among the lengths. */
export const dayLength = 2

/** The day number, since the epoch, of a column with one-day spans and quarters, as SQL. */
export function dayOfRow(span: string): string {
  const number = `${span} % ${passStep} / ${lengthsMost}`
  return `CASE WHEN ${span} % ${lengthsMost} = ${dayLength} THEN ${number} ELSE ${number} / ${lengths[dayLength]} END`
}

/**
 * For each length, where its spans end that are over: the first number of a later one, and the first number of a later
 * quarter.
 */
export function foldedSpans({
  number,
  folded,
}: Pass): readonly { readonly longEnd: number; readonly quarterEnd: number }[] {
  return lengths.map((length, place) => {
    const end = folded - (folded % length)
    return { longEnd: spanOf(end, place, number), quarterEnd: spanOf(end, 0, number) }
  })
}

/** The quarter of a one-quarter span. Its span has the largest number of all spans at that time. */
export function quarterOfSpan(span: number, pass: PassNumber): number {
  return Math.floor((span - pass * passStep) / lengthsMost)
}
