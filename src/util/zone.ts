import { isZone, makeRoomIn, wallOf } from './wall-clock.ts'

const dayMs = 86_400_000
const quarterMs = 900_000

/** The start and end of a date in a zone, in milliseconds since the epoch, and the date. */
type DateThere = { readonly from: number; readonly until: number; readonly date: number }

/** The two most recent dates, by zone: nearly all requests are for today or the next hour. */
const last = new Map<string, readonly [DateThere, DateThere | undefined]>()

/** First moments of dates, by zone and date. A search takes tens of microseconds, and a list needs the same few. */
const beginnings = new Map<string, number>()

/** Whether a text names a time zone of the IANA database: `Europe/Berlin`, `UTC`. */
export function isTimeZone(text: string): boolean {
  return /^[A-Za-z]/.test(text) && isZone(text)
}

/**
 * The date in a zone at a moment, as midnight of that date in UTC: a name of the day, not a moment. So it is the same
 * everywhere, and a day of 23 or 25 hours is one day.
 */
export function dateIn(zone: string, at: number): number {
  if (zone === 'UTC') return Math.floor(at / dayMs) * dayMs
  const [one, other] = last.get(zone) ?? []
  if (one && at >= one.from && at < one.until) return one.date
  if (other && at >= other.from && at < other.until) return other.date
  const date = localDate(zone, at)
  makeRoomIn(last)
  last.set(zone, [{ date, from: beginningOf(zone, date), until: beginningOf(zone, date + dayMs) }, one])
  return date
}

/**
 * The first moment of a date, as `dateIn` returns it, in a zone; if clocks skip midnight, the first moment after the
 * change.
 */
export function beginningOf(zone: string, date: number): number {
  if (zone === 'UTC') return date
  const place = `${zone} ${date}`
  const known = beginnings.get(place)
  if (known !== undefined) return known
  const found = findBeginning(zone, date)
  makeRoomIn(beginnings)
  beginnings.set(place, found)
  return found
}

function findBeginning(zone: string, date: number): number {
  // Clocks change at a quarter of an hour, and never by more than a day.
  const guess = date - offsetAt(zone, date)
  let from = guess - 3 * 3_600_000
  while (localDate(zone, from) >= date) from -= quarterMs * 16
  while (localDate(zone, from) < date) from += quarterMs
  return from
}

function localDate(zone: string, at: number): number {
  return Math.floor((at + offsetAt(zone, at)) / dayMs) * dayMs
}

/** The offset from UTC of a zone at a moment, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  return zone === 'UTC' ? 0 : wallOf(zone, at) - at
}
