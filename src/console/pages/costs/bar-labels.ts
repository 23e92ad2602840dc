import { language, languageTags } from '../../words/index.ts'
import type { Range } from './range.ts'

const shapes = {
  hour: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
} as const

/** The label of the bar that begins at a moment. */
export function barLabel(at: string, step: Range['step'], timeZone: string): string {
  const locale = language.value === 'en' ? 'en-GB' : languageTags[language.value]
  return new Date(at).toLocaleString(locale, { ...shapes[step], timeZone })
}

/** Bars with equal labels, on the day when the clock goes back: their start, each with its UTC offset. */
export function hoursTwice(bars: readonly string[], timeZone: string): ReadonlyMap<string, string> {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  const alike = Map.groupBy(bars, at => clock.format(new Date(at)))
  const twice = [...alike.values()].filter(({ length }) => length > 1).flat()
  return new Map(twice.map(at => [at, offsetAt(at, timeZone)]))
}

/** In the format `+02:00`. */
function offsetAt(at: string, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'longOffset' }).formatToParts(new Date(at))
  return parts.find(({ type }) => type === 'timeZoneName')?.value.replace('GMT', '') || '+00:00'
}
