import { dayIn, formatIn, isZone, localZone, momentIn, parseDuration, readDate } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/** A time range in milliseconds, and the zone in which its words were read. */
export type Span = { readonly since: number | undefined; readonly until: number | undefined; readonly zone: string }

const wallText = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?)?$/
const zonedText = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/

/**
 * Reads a date, a timestamp with or without a zone, a time ago (`2h`), `now`, `today` or `yesterday`, in the zone;
 * undefined for anything else.
 */
export function parseMoment(text: string, now: number, zone: string): number | undefined {
  const ago = parseDuration(text)
  if (ago !== undefined) return now - ago
  if (text === 'now') return now
  if (text === 'today' || text === 'yesterday') {
    const { year, month, day } = dayIn(zone, now)
    return momentIn(zone, { year, month, day: text === 'today' ? day : day - 1 })
  }
  const [, ...parts] = wallText.exec(text) ?? []
  const [year, month, day, hour = 0, minute = 0, second = 0] = parts.map(part => Number(part ?? 0))
  if (year !== undefined && month !== undefined && day !== undefined) {
    // `Date.UTC` accepts the 31st of February and the hour 25.
    const wall = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
    const isTime = wall.getUTCMonth() === month - 1 && wall.getUTCDate() === day && wall.getUTCHours() === hour
    return isTime && minute < 60 && second < 60 ? momentIn(zone, { year, month, day, hour, minute, second }) : undefined
  }
  const written = zonedText.exec(text)?.[1]
  if (written === undefined || readDate(written) === undefined) return undefined
  const at = Date.parse(text.replace(' ', 'T'))
  return Number.isNaN(at) ? undefined : at
}

/** @throws Exit 2 that names the accepted forms */
export function readMoment(option: string, text: string, now: number, zone: string): number {
  const at = parseMoment(text, now, zone)
  if (at !== undefined) return at
  const forms = 'a date (2026-11-01), a timestamp (2026-11-01T08:30), a time ago (2h, 7d), today or yesterday'
  throw new Exit(exitCodes.usage, `--${option} ${text}: expected ${forms}; the time zone is ${zone}`)
}

/** The given zone, else the default. @throws Exit 2 if there is no such zone */
export function readZone(name: string | undefined, usual = localZone()): string {
  if (name === undefined) return usual
  if (name === 'local') return localZone()
  if (isZone(name)) return name
  throw new Exit(exitCodes.usage, `--zone ${name}: expected an IANA time zone such as Europe/Berlin, UTC, or local`)
}

/** @throws Exit 2 if one of them is no valid time, or the end is not after the start */
export function readSpan(given: { readonly since?: string; readonly until?: string }, now: number, zone: string): Span {
  const since = given.since === undefined ? undefined : readMoment('since', given.since, now, zone)
  const until = given.until === undefined ? undefined : readMoment('until', given.until, now, zone)
  if (since !== undefined && since >= (until ?? now)) throw new Exit(exitCodes.usage, '--since must be before --until')
  return { since, until, zone }
}

/** A time range for people, with the times that its words mean. */
export function describeSpan({ since, until, zone }: Span): string {
  const from = since === undefined ? '' : `from ${formatIn(zone, since)} `
  return `${from}until ${until === undefined ? 'now' : formatIn(zone, until)} (${zone})`
}
