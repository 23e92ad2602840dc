/** The user's time zone, by its name in the IANA database. */
export function viewerZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** The valid time zone in an address; otherwise the user's. */
export function zoneOf(named: string | undefined): string {
  if (named === undefined) return viewerZone()
  try {
    return new Intl.DateTimeFormat('en', { timeZone: named }).resolvedOptions().timeZone
  } catch {
    return viewerZone()
  }
}

/** The date of a moment in a time zone, as `2026-11-21`. */
export function dateIn(zone: string, at: Date): string {
  const parts: { [part: string]: string } = {}
  const fields = { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' } as const
  for (const { type, value } of new Intl.DateTimeFormat('en-GB', fields).formatToParts(at)) parts[type] = value
  return `${parts['year']}-${parts['month']}-${parts['day']}`
}

/** The date a number of days later. */
export function addDays(date: string, days: number): string {
  const day = new Date(`${date}T00:00:00Z`)
  day.setUTCDate(day.getUTCDate() + days)
  return day.toISOString().slice(0, 10)
}

/** The first day of a date's month, or of a month a number of months later. */
export function monthOf(date: string, later = 0): string {
  const [year = 0, month = 1] = date.split('-').map(Number)
  return new Date(Date.UTC(year, month - 1 + later, 1)).toISOString().slice(0, 10)
}

/** The number of days between two dates, including both. */
export function daysIn(from: string, to: string): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000 + 1
}

/** Whether a text is an existing day: 30 February is not, although `Date` reads it as a day in March. */
export function isDate(text: string | undefined): text is string {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
