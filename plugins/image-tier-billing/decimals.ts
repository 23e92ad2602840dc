import type { Micros } from '../../src/kit/index.ts'

/** Whether a factor makes dearer. */
export function raises(factor: string): boolean {
  return Number(factor) > 1
}

const decimal = /^(\d{1,9})(?:\.(\d{1,30}))?$/

/** A decimal of any number of places in micro-units, rounded half up; undefined when it is none. */
export function readCost(text: string): Micros | undefined {
  const match = decimal.exec(text)
  if (!match) return undefined
  const [, whole = '', places = ''] = match
  const kept = Number(whole + places.slice(0, 6).padEnd(6, '0'))
  return kept + (Number(places[6] ?? 0) >= 5 ? 1 : 0)
}
