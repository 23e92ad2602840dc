import type { PriceConditions } from '../../domain/index.ts'
import { isTimeZone, wallOf } from '../../util/index.ts'
import { type Fields, fieldsOf } from './source-table.ts'

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const minutesPerDay = 1440

/**
 * When LiteLLM's `off_peak_pricing` applies, one condition for each window; undefined if the hours cannot be expressed
 * in the zone of the days.
 */
export function readWindows(block: Fields): readonly PriceConditions[] | undefined {
  const zone = typeof block['weekday_timezone'] === 'string' ? block['weekday_timezone'] : 'UTC'
  const shift = isTimeZone(zone) ? shiftOf(zone) : undefined
  if (shift === undefined) return undefined
  const given = [...(block['hours_utc'] === undefined ? [] : [block]), ...listOf(block['windows']).map(fieldsOf)]
  const read = given.map(window => readWindow(window, zone, shift))
  return read.includes(undefined) || read.length === 0 ? undefined : (read as PriceConditions[])
}

function readWindow(window: Fields, zone: string, shift: number): PriceConditions | undefined {
  const spans = listOf(window['hours_utc']).map(text => readSpan(String(text), shift))
  if (spans.includes(undefined) || spans.length === 0) return undefined
  const isWhole = spans.some(span => span === 'all')
  const named = window['weekdays'] === undefined ? undefined : listOf(window['weekdays']).map(day => Number(day) - 1)
  if (named?.some(day => days[day] === undefined)) return undefined
  if (isWhole && !named) return undefined
  return {
    ...(named && { days: writeDays(named) }),
    ...(!isWhole && { hours: spans as string[] }),
    zone,
  }
}

/** `mon-fri` for consecutive days. */
function writeDays(named: readonly number[]): string | readonly string[] {
  const names = named.map(day => days[day] as string)
  const isSpan = named.length > 1 && named.every((day, i) => i === 0 || day === (named[i - 1] as number) + 1)
  return isSpan ? `${names[0]}-${names.at(-1)}` : names
}

/** `10:00-00:00` in UTC as hours of the zone; `all` for a whole day. */
function readSpan(text: string, shift: number): string | undefined {
  const match = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text.trim())
  if (!match) return undefined
  const [from = 0, fromMinute = 0, to = 0, toMinute = 0] = match.slice(1).map(Number)
  const [begin, end] = [from * 60 + fromMinute, to * 60 + toMinute]
  if (begin === end) return 'all'
  return `${clockOf(begin + shift)}-${clockOf(end + shift, '24:00')}`
}

function clockOf(minutes: number, midnight = '00:00'): string {
  const minute = ((minutes % minutesPerDay) + minutesPerDay) % minutesPerDay
  if (minute === 0) return midnight
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

/** Minutes by which a zone is ahead of UTC; undefined if that changes during a year. */
function shiftOf(zone: string): number | undefined {
  const offsets = [0, 3, 6, 9].map(month => {
    const at = Date.UTC(2026, month, 1)
    return (wallOf(zone, at) - at) / 60_000
  })
  return new Set(offsets).size === 1 ? offsets[0] : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}
