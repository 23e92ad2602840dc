import { t, translate, tName } from './index.ts'

/** A budget's period in the API's format. */
export type Period = { readonly per: string; readonly resets_on?: string | number | null }

const lastDays = /^(\d+)d$/
/** The default days on which a week and a month begin. */
const usual: readonly (string | number | null | undefined)[] = ['monday', 1, null, undefined]

/** Whether a period is the last days before now: it has no end, and drops its earliest day at midnight. */
export function isWindow(per: string): boolean {
  return lastDays.test(per)
}

/** A period in words, with the day on which it begins if that is not the default. */
export function periodText({ per, resets_on: day }: Period): string {
  const days = lastDays.exec(per)?.[1]
  if (days !== undefined) return t('period.days', { days })
  const name = tName('period', per)
  if (usual.includes(day)) return name
  if (typeof day === 'number') return t('period.from_day', { period: name, day })
  return t('period.from', { period: name, day: dayText(day ?? '') })
}

/** The same from the audit log's format: `week@sunday`. */
export function periodOfWord(word: string): string {
  const [per = '', day] = word.split('@')
  return periodText({ per, resets_on: day !== undefined && /^\d+$/.test(day) ? Number(day) : (day ?? null) })
}

/** The maximum spending in a period. */
export function boundText(amount: string, period: Period): string {
  const { per, resets_on: day } = period
  const word = `bound.budget.${per}`
  const known = translate(word, { amount })
  return known !== word && usual.includes(day) ? known : t('bound.budget.other', { amount, period: periodText(period) })
}

function dayText(day: string | number): string {
  return typeof day === 'number' ? t('period.day_of_month', { day }) : tName('weekday', day)
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
const daysOfMonth = Array.from({ length: 28 }, (_, i) => i + 1)
const periods = ['total', 'day', 'week', 'month', '7d', '30d', '90d'] as const

/** The choices for a period; an uncommon one is included if it is the field's value. */
export function periodChoices(now: string | null | undefined): readonly (readonly [value: string, text: string])[] {
  const all: readonly string[] = now && !periods.some(one => one === now) ? [...periods, now] : periods
  return all.map(per => [per, periodText({ per })] as const)
}

/** The choices for the day on which a week or a month begins; other periods have no such day. */
export function dayChoices(per: string): readonly (readonly [value: string, text: string])[] {
  if (per !== 'week' && per !== 'month') return []
  const days = per === 'week' ? weekdays : daysOfMonth
  return days.map(day => [dayShown(day), dayText(day)] as const)
}

/** The choices for the day if the period is chosen at the same time: the values are those of the file. */
export function allDayChoices(): readonly (readonly [value: string, text: string])[] {
  return [...weekdays, ...daysOfMonth].map(day => [String(day), dayText(day)] as const)
}

/** The value of a field with these choices. */
export function dayShown(day: string | number | null | undefined): string {
  return usual.includes(day) ? '' : String(day)
}

/** The day in the API's format: only weeks and months have one. */
export function readDay(period: string, text: string): string | number | null {
  if (text === '' || (period !== 'week' && period !== 'month')) return null
  return /^\d+$/.test(text) ? Number(text) : text
}
