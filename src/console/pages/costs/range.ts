import { addDays, daysIn, isDate, monthOf } from '../../zone.ts'

export const presets = ['today', '7d', '30d', 'month', 'last'] as const
export type Preset = (typeof presets)[number]

/** The first and last day, and the length of bars. `preset` is null for days that the user has chosen. */
export type Range = {
  readonly preset: Preset | null
  readonly from: string
  readonly to: string
  readonly step: 'hour' | 'day' | 'month'
}

const hoursMax = 2
const daysMax = 92

/** The range in the address; the last 30 days if it has no valid one. */
export function readRange(query: { readonly [name: string]: string | undefined }, today: string): Range {
  const { from, to } = query
  if (isDate(from) && isDate(to) && from <= to) return { preset: null, from, to, step: stepOf(from, to) }
  const preset = presets.find(one => one === query['range']) ?? '30d'
  const [first, last] = daysOf(preset, today)
  return { preset, from: first, to: last, step: stepOf(first, last) }
}

/** The parameters of an address for its range and split. A named range keeps its number of days on another day. */
export function spanOf(query: { readonly [name: string]: string | undefined }): { readonly [name: string]: string } {
  return Object.fromEntries(
    ['range', 'from', 'to', 'zone', 'by'].flatMap(name => (query[name] ? [[name, query[name]] as const] : [])),
  )
}

function daysOf(preset: Preset, today: string): readonly [from: string, to: string] {
  if (preset === 'today') return [today, today]
  if (preset === 'month') return [monthOf(today), today]
  if (preset === 'last') return [monthOf(today, -1), addDays(monthOf(today), -1)]
  return [addDays(today, preset === '7d' ? -6 : -29), today]
}

function stepOf(from: string, to: string): Range['step'] {
  const days = daysIn(from, to)
  return days <= hoursMax ? 'hour' : days <= daysMax ? 'day' : 'month'
}

/** The days of the bar that begins on a date, limited to the range. */
export function daysOfBar({ step, to }: Range, date: string): { readonly from: string; readonly to: string } {
  if (step !== 'month') return { from: date, to: date }
  const last = addDays(monthOf(date, 1), -1)
  return { from: date, to: last < to ? last : to }
}
