import { language } from './index.ts'

const locale = () => (language.value === 'zh' ? 'zh-CN' : 'en-GB')
const day = { year: 'numeric', month: 'short', day: 'numeric' } as const

/** A moment in the reader's time zone, as `25 Nov 2026, 14:03`. */
export function momentText(moment: Date, seconds = false): string {
  return new Intl.DateTimeFormat(locale(), {
    ...day,
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
    hourCycle: 'h23',
  }).format(moment)
}

/** A date such as `2026-11-25`, as `25 Nov 2026`. */
export function dateText(date: string): string {
  return new Intl.DateTimeFormat(locale(), { ...day, timeZone: 'UTC' }).format(new Date(`${date}T00:00:00Z`))
}

/** A month such as `2026-11`, as `Nov 2026`. */
export function monthText(month: string): string {
  const { year, month: name } = day
  return new Intl.DateTimeFormat(locale(), { year, month: name, timeZone: 'UTC' }).format(
    new Date(`${month}-01T00:00:00Z`),
  )
}

/** The date, month or local time of a field in the page's format; empty for any other value. */
export function fieldText(value: string): string {
  if (/^\d{4}-\d\d$/.test(value)) return monthText(value)
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return dateText(value)
  const moment = /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : undefined
  return moment && !Number.isNaN(moment.getTime()) ? momentText(moment) : ''
}
