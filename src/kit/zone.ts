const dayMs = 86_400_000
const quarterMs = 900_000

/** How long a date lasts somewhere, milliseconds since the epoch, and which it is. */
type DateThere = { readonly from: number; readonly until: number; readonly date: number }

const formats = new Map<string, Intl.DateTimeFormat>()
/** The two dates that were asked for last, by zone: nearly all who ask mean today, or the hour that follows. */
const last = new Map<string, readonly [DateThere, DateThere | undefined]>()

/** Whether a text names a time zone of the IANA database: `Europe/Berlin`, `UTC`. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: text }).format(0)
    return true
  } catch {
    return false
  }
}

/**
 * The date in a zone at a moment, as midnight of the same date in UTC: a name for the day, and no moment. So it is the same
 * wherever somebody reads it, and a day of 23 or 25 hours is a day.
 */
export function dateIn(zone: string, at: number): number {
  if (zone === 'UTC') return Math.floor(at / dayMs) * dayMs
  const [one, other] = last.get(zone) ?? []
  if (one && at >= one.from && at < one.until) return one.date
  if (other && at >= other.from && at < other.until) return other.date
  const date = localDate(zone, at)
  last.set(zone, [{ date, from: beginningOf(zone, date), until: beginningOf(zone, date + dayMs) }, one])
  return date
}

/** When a date, named as `dateIn` does, begins in a zone: where clocks jump over midnight, with the first moment after it. */
export function beginningOf(zone: string, date: number): number {
  if (zone === 'UTC') return date
  // Every change of clocks is at a quarter of an hour, and none is by more than a day.
  const guess = date - offsetAt(zone, date)
  let from = guess - 3 * 3_600_000
  while (localDate(zone, from) >= date) from -= quarterMs * 16
  while (localDate(zone, from) < date) from += quarterMs
  return from
}

function localDate(zone: string, at: number): number {
  return Math.floor((at + offsetAt(zone, at)) / dayMs) * dayMs
}

/** What clocks there are before UTC at a moment, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  if (zone === 'UTC') return 0
  let format = formats.get(zone)
  if (!format) {
    const fields = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
    format = new Intl.DateTimeFormat('en-US', { ...fields, second: '2-digit', hourCycle: 'h23', timeZone: zone })
    formats.set(zone, format)
  }
  const parts: { [name: string]: number } = {}
  for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000
}
