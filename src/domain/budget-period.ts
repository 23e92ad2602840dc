/** Periods whose sums the books keep with each payer. */
export const plainPeriods = ['total', 'day', 'month'] as const
export type PlainPeriod = (typeof plainPeriods)[number]

/** In the order of ISO 8601. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
export type Weekday = (typeof weekdays)[number]

/**
 * A period that is the sum of some days: a week, a month that begins on another day than the first, or the last days. A
 * week without a weekday begins on Monday.
 */
export type WindowPeriod = 'week' | `week@${Weekday}` | `month@${number}` | `${number}d`

/** What a budget lasts for, in one word: it is compared and stored as one. */
export type BudgetPeriod = PlainPeriod | WindowPeriod

/** The longest rolling period. The books keep as many days, and some more. */
export const rollingMax = 90
/** Every month has this day. */
export const monthDayMax = 28

const rollingWord = /^(?:[2-9]|[1-8][0-9]|90)d$/
/** What a period may be without the day that it resets on. */
export const periodText = /^(?:total|day|week|month|(?:[2-9]|[1-8][0-9]|90)d)$/
/** For messages: what a period may be. */
export const periodChoices = `total, day, week, month, or 2d to ${rollingMax}d for the last days`

/** The day that a period resets on: a weekday, or a day of the month. */
export type ResetDay = Weekday | number
export const resetDays: readonly ResetDay[] = [...weekdays, ...Array.from({ length: monthDayMax }, (_, i) => i + 1)]
export const resetChoices = `a weekday for a week, or 1 to ${monthDayMax} for a month`

const dayMs = 86_400_000

/** A period and the day that it resets on, in one; undefined if there is none such. */
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

/** The two again. The day is null for a period that has no choice of it. */
export function splitPeriod(period: BudgetPeriod): { readonly per: string; readonly resetsOn: ResetDay | null } {
  const [per = period, day] = period.split('@')
  if (per === 'week') return { per, resetsOn: (day ?? 'monday') as Weekday }
  if (per === 'month') return { per, resetsOn: Number(day ?? 1) }
  return { per, resetsOn: null }
}

/** The two as JSON has them. */
export function showPeriod(period: BudgetPeriod) {
  const { per, resetsOn } = splitPeriod(period)
  return { per, resets_on: resetsOn }
}

/** A stored word; undefined if it is no period. */
export function readPeriod(word: string | undefined): BudgetPeriod | undefined {
  const [per = '', day, ...rest] = word?.split('@') ?? []
  if (rest.length > 0) return undefined
  return joinPeriod(per, day === undefined ? null : readResetDay(day))
}

/** A day as it is typed. */
export function readResetDay(text: string): ResetDay {
  return /^\d{1,2}$/.test(text) ? Number(text) : (text as Weekday)
}

export function isWindow(period: BudgetPeriod): period is WindowPeriod {
  return period !== 'total' && period !== 'day' && period !== 'month'
}

/** Those of some periods that are windows, each once. */
export function windowsAmong(periods: readonly (BudgetPeriod | undefined)[]): readonly WindowPeriod[] {
  return [...new Set(periods)].filter(period => period !== undefined && isWindow(period))
}

/** How many days a rolling period has; undefined for one that begins on a day of the calendar. */
export function rollingDays(period: BudgetPeriod): number | undefined {
  return period.endsWith('d') ? Number.parseInt(period, 10) : undefined
}

/** The same as a member of a refusal, if there is one. */
export function rollingOf(period: BudgetPeriod): { readonly lastDays?: number } {
  const days = rollingDays(period)
  return days === undefined ? {} : { lastDays: days }
}

/** The first day of the window that ends with `day`. Days are named by midnight of their date in UTC. */
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

/** The most days that a period has. */
function longest(period: BudgetPeriod): number {
  if (period === 'total') return Infinity
  const { per } = splitPeriod(period)
  return rollingDays(period) ?? (per === 'day' ? 1 : per === 'week' ? 7 : 31)
}

/**
 * Whether an amount in one period allows nothing that the same amount in the other refuses. A week may fall into two
 * months: only a rolling period that is as long is within a week or a month.
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
