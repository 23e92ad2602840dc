import { readDate } from '../util/index.ts'

const form = /^(\d{4}-\d\d-\d\d)[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/
/** The last moment of the year 9999; the format of later ones differs. */
const lastMs = Date.UTC(10_000, 0) - 1

/** Whether a text is a time with a time zone that the gateway's clock can represent. Leap seconds are not. */
export function isMoment(text: string): boolean {
  const day = form.exec(text)?.[1]
  const ms = day === undefined ? Number.NaN : Date.parse(text)
  return ms >= 0 && ms <= lastMs && readDate(`${day}`) !== undefined
}
