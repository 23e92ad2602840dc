import { readDecimal, withoutNoise } from '../../prices/index.ts'
import type { TrackedRow } from '../new-api/foreign-book.ts'

/** The maximum amount of a budget. */
const moneyMax = 999_999_999_999_999n

/**
 * Money in PostgreSQL's float format, in micro-units. Undefined for invalid text.
 * @param more the value of a fraction of a micro-unit
 */
export function microsIn(row: TrackedRow, column: string, more: 0n | 1n): bigint | undefined {
  const text = row.text(column)
  const decimal = text === undefined ? undefined : readDecimal(text)
  if (decimal === undefined) return undefined
  const [whole = '0', fraction = ''] = withoutNoise(decimal).split('.')
  const micros = BigInt(whole) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
  const rounded = fraction.length > 6 ? micros + more : micros
  return rounded > moneyMax ? moneyMax : rounded
}

/** The texts of an array of PostgreSQL, `{a,"b c"}`; undefined for invalid text. */
export function textsIn(row: TrackedRow, column: string): readonly string[] | undefined {
  const text = row.text(column)
  if (text === undefined) return undefined
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined
  const inside = text.slice(1, -1)
  return [...inside.matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/g)].map(([plain, quoted]) =>
    quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, '$1'),
  )
}

/** A moment; without a zone it is in UTC. Undefined for invalid text. */
export function momentIn(row: TrackedRow, column: string): number | undefined {
  const text = row.text(column)
  const [, date, time, zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(text ?? '') ?? []
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone
  const at = Date.parse(`${date}T${time?.replace(/(\.\d{3})\d+$/, '$1')}${offset}`)
  return Number.isNaN(at) ? undefined : at
}

const limitMost = 1_000_000_000n

/** A whole number above 0, at most the maximum of a limit here. */
export function limitIn(row: TrackedRow, column: string): number | undefined {
  const whole = row.whole(column)
  return whole !== undefined && whole > 0n ? Number(whole < limitMost ? whole : limitMost) : undefined
}
