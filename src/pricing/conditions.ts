import { factNames, type PriceConditions, type UsageFacts } from '../domain/index.ts'
import { wallOf } from '../util/index.ts'

/** The facts that conditions are compared with. */
export type Situation = {
  /** Input tokens of the request. */
  readonly input: number
  readonly facts: UsageFacts
  /** When the request began, milliseconds since the epoch. */
  readonly at: number
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const minutesPerDay = 1440

export function holds(conditions: PriceConditions, { input, facts, at }: Situation): boolean {
  const { input_above: above, input_from: from } = conditions
  if (above !== undefined && input <= above) return false
  if (from !== undefined && input < from) return false
  for (const name of factNames) {
    const wanted = conditions[name]
    if (wanted !== undefined && !listOf(wanted).includes(facts[name] ?? '')) return false
  }
  return holdsAt(conditions, at)
}

/** Whether `days` and `hours` include a moment. */
export function holdsAt({ days, hours, zone = 'UTC' }: PriceConditions, at: number): boolean {
  if (days === undefined && hours === undefined) return true
  const wall = new Date(wallOf(zone, at))
  if (days !== undefined && !daysOf(days).has(wall.getUTCDay())) return false
  const minute = wall.getUTCHours() * 60 + wall.getUTCMinutes()
  return hours === undefined || listOf(hours).some(text => isWithin(parseHours(text), minute))
}

/** `service_tier priority, input_above 200000`. */
export function conditionText(conditions: PriceConditions): string {
  return Object.entries(conditions)
    .map(([name, wanted]) => `${name} ${String(wanted)}`)
    .join(', ')
}

export function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value
}

/** Days of the week, Sunday is 0; empty for a text that is not a list of days. */
export function daysOf(days: string | readonly string[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const text of listOf(days)) {
    const [first = '', last = first] = text.split('-')
    const [from, to] = [dayNames.indexOf(first), dayNames.indexOf(last)]
    if (from < 0 || to < 0) return new Set()
    for (let day = from; ; day = (day + 1) % dayNames.length) {
      all.add(day)
      if (day === to) break
    }
  }
  return all
}

export type Hours = { readonly from: number; readonly to: number }

/** Minutes of the day of `22:00-06:00`, the end excluded; undefined for invalid text. */
export function parseHours(text: string): Hours | undefined {
  const match = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text)
  if (!match) return undefined
  const [from = 0, fromMinute = 0, to = 0, toMinute = 0] = match.slice(1).map(Number)
  const hours = { from: from * 60 + fromMinute, to: to * 60 + toMinute }
  const isWrong = fromMinute > 59 || toMinute > 59 || hours.from >= minutesPerDay || hours.to > minutesPerDay
  return isWrong || hours.from === hours.to ? undefined : hours
}

function isWithin(hours: Hours | undefined, minute: number): boolean {
  if (!hours) return false
  const { from, to } = hours
  return from < to ? minute >= from && minute < to : minute >= from || minute < to
}
