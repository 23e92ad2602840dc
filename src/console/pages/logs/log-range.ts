import { addDays, dateIn, viewerZone } from '../../zone.ts'

/** Named ranges of the log, as on the costs page: whole days in the reader's time zone, up to today. */
export const logRanges = ['today', '7d', '30d'] as const
export type LogRange = (typeof logRanges)[number]

const daysBefore: { readonly [range in LogRange]: number } = { today: 0, '7d': 6, '30d': 29 }

export function rangeNamed(name: string | undefined): LogRange | undefined {
  return logRanges.find(one => one === name)
}

/** The first moment of a range. */
export function beginningOf(range: LogRange, now = new Date()): string {
  const first = addDays(dateIn(viewerZone(), now), -daysBefore[range])
  return new Date(`${first}T00:00`).toISOString()
}

/** A moment from an address, for a field with date and time. */
export function localMoment(moment: string | undefined): string {
  const at = moment ? new Date(moment) : null
  if (!at || Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
