/** Periods for which the store keeps sums per account. */
export const plainPeriods = ['total', 'day', 'month'] as const
export type PlainPeriod = (typeof plainPeriods)[number]

/** In the order of ISO 8601. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
export type Weekday = (typeof weekdays)[number]

/**
 * A period whose sum is the sum of days: a week, a month from another day than the first, or the last days. A week
 * without a weekday begins on Monday.
 */
export type WindowPeriod = 'week' | `week@${Weekday}` | `month@${number}` | `${number}d`

/** The period of a budget, in one word that is compared and stored. */
export type BudgetPeriod = PlainPeriod | WindowPeriod

/** The longest rolling period. The store keeps daily sums for as many days and some more. */
export const rollingMax = 90
/** The last day that every month has. */
export const monthDayMax = 28

const rollingWord = /^(?:[2-9]|[1-8][0-9]|90)d$/
/** The periods, without the day on which they reset. */
export const periodText = /^(?:total|day|week|month|(?:[2-9]|[1-8][0-9]|90)d)$/
/** The valid periods, for messages. */
export const periodChoices = `total, day, week, month, or 2d to ${rollingMax}d for the last days`

/** The day on which a period resets: a weekday, or a day of the month. */
export type ResetDay = Weekday | number
export const resetDays: readonly ResetDay[] = [...weekdays, ...Array.from({ length: monthDayMax }, (_, i) => i + 1)]
export const resetChoices = `a weekday for a week, or 1 to ${monthDayMax} for a month`

const dayMs = 86_400_000

/** Joins a period and its reset day into one word; undefined if the combination is invalid. */
export function joinPeriod(per: string, resetsOn: ResetDay | null = null): BudgetPeriod | undefined {
  if (per === 'week') {
    const day = weekdays.find(one => one === (resetsOn ?? 'monday'))
    return day === undefined ? undefined : day === 'monday' ? per : `week@${day}`
  }
  if (per === 'month') {
    const day = resetsOn ?? 1
    if (typeof day !== 'number' || !resetDays.includes(day)) return undefined
    return day === 1 ? per : `month@${day}`
  }
  if (resetsOn !== null) return undefined
  if (per === 'total' || per === 'day') return per
  return rollingWord.test(per) ? (per as BudgetPeriod) : undefined
}

/** Splits the word into period and reset day. The day is null for a period without a choice of day. */
export function splitPeriod(period: BudgetPeriod): { readonly per: string; readonly resetsOn: ResetDay | null } {
  const [per = period, day] = period.split('@')
  if (per === 'week') return { per, resetsOn: (day ?? 'monday') as Weekday }
  if (per === 'month') return { per, resetsOn: Number(day ?? 1) }
  return { per, resetsOn: null }
}

/** The period and its reset day as JSON. */
export function showPeriod(period: BudgetPeriod) {
  const { per, resetsOn } = splitPeriod(period)
  return { per, resets_on: resetsOn }
}

/** Parses a stored word; undefined if it is no period. */
export function readPeriod(word: string | undefined): BudgetPeriod | undefined {
  const [per = '', day, ...rest] = word?.split('@') ?? []
  if (rest.length > 0) return undefined
  return joinPeriod(per, day === undefined ? null : readResetDay(day))
}

/** A day as users type it. */
export function readResetDay(text: string): ResetDay {
  return /^\d{1,2}$/.test(text) ? Number(text) : (text as Weekday)
}

export function isWindow(period: BudgetPeriod): period is WindowPeriod {
  return period !== 'total' && period !== 'day' && period !== 'month'
}

/** The distinct periods that are windows. */
export function windowsAmong(periods: readonly (BudgetPeriod | undefined)[]): readonly WindowPeriod[] {
  return [...new Set(periods)].filter(period => period !== undefined && isWindow(period))
}

/** The number of days of a rolling period; undefined for one that begins on a calendar day. */
export function rollingDays(period: BudgetPeriod): number | undefined {
  return period.endsWith('d') ? Number.parseInt(period, 10) : undefined
}

/** The number of days as a member of a refusal; empty for other periods. */
export function rollingOf(period: BudgetPeriod): { readonly lastDays?: number } {
  const days = rollingDays(period)
  return days === undefined ? {} : { lastDays: days }
}

/** The first day of the window that ends with `day`. A day is the timestamp of its midnight in UTC. */
export function windowStart(period: WindowPeriod, day: number): number {
  const days = rollingDays(period)
  if (days !== undefined) return day - (days - 1) * dayMs
  const { per, resetsOn } = splitPeriod(period)
  const date = new Date(day)
  if (per === 'week') {
    const passed = (date.getUTCDay() + 6 - weekdays.indexOf(resetsOn as Weekday)) % 7
    return day - passed * dayMs
  }
  const first = resetsOn as number
  const back = date.getUTCDate() < first ? 1 : 0
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, first)
}

/** The day after the window that begins with `start`. */
export function windowEnd(period: WindowPeriod, start: number): number {
  const days = rollingDays(period)
  if (days !== undefined) return start + days * dayMs
  if (splitPeriod(period).per === 'week') return start + 7 * dayMs
  const date = new Date(start)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())
}

/** The maximum number of days of the period. */
function longest(period: BudgetPeriod): number {
  if (period === 'total') return Infinity
  const { per } = splitPeriod(period)
  return rollingDays(period) ?? (per === 'day' ? 1 : per === 'week' ? 7 : 31)
}

/**
 * Whether an amount per `period` never allows more than the same amount per `most`. A week may span two months, so
 * only a rolling period of at least the same length contains a week or a month.
 */
export function isPeriodWithin(period: BudgetPeriod, most: BudgetPeriod): boolean {
  if (period === most || period === 'total' || most === 'day') return true
  return rollingDays(period) !== undefined && longest(period) >= longest(most)
}

/** A period in words: `in total`, `a week from sunday`, `in 7 days`. */
export function describePeriod(period: BudgetPeriod): string {
  const days = rollingDays(period)
  if (days !== undefined) return `in ${days} days`
  if (period === 'total') return 'in all'
  const [per, day] = period.split('@')
  return day === undefined ? `a ${per}` : `a ${per} from ${per === 'month' ? 'day ' : ''}${day}`
}
