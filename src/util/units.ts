/** Money is a whole number of micro-units of the configured currency: 0.04 USD is 40_000. */
export type Micros = number

/** The text forms of an amount and of a duration. */
export const moneyText = /^(\d{1,9})(?:\.(\d{1,6}))?$/
export const durationText = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
const bytesText = /^(\d+(?:\.\d+)?)\s?(B|KiB|MiB|GiB)?$/
const durationMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const bytesOf = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const

/**
 * Reads a decimal string such as `"0.04"` (at most six places, no sign) into micro-units; undefined for any other text.
 */
export function parseMoney(text: string): Micros | undefined {
  const match = moneyText.exec(text)
  if (!match) return undefined
  return Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'))
}

const costText = /^(\d{1,9})(?:\.(\d{1,30}))?$/

/**
 * Reads a vendor's cost, a decimal with any number of places, into micro-units, rounded half up. Undefined for other
 * text.
 */
export function readCost(text: string): Micros | undefined {
  const match = costText.exec(text)
  if (!match) return undefined
  const [, whole = '', places = ''] = match
  const kept = Number(whole + places.slice(0, 6).padEnd(6, '0'))
  return kept + (Number(places[6] ?? 0) >= 5 ? 1 : 0)
}

/** Writes micro-units as a decimal string with at least two places: 40_000 → `"0.04"`, 1_500 → `"0.0015"`. */
export function formatMoney(micros: Micros): string {
  const sign = micros < 0 ? '-' : ''
  const whole = Math.abs(micros)
  const places = String(whole % 1_000_000).padStart(6, '0')
  return `${sign}${Math.trunc(whole / 1_000_000)}.${places.slice(0, 2)}${places.slice(2).replace(/0{1,4}$/, '')}`
}

/** Reads `250ms`, `30s`, `15m`, `24h`, `7d` into milliseconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const match = durationText.exec(text)
  return match ? Math.round(Number(match[1]) * durationMs[match[2] as keyof typeof durationMs]) : undefined
}

/** Writes bytes for people: `32 MiB`, `64 KiB`, `1000 bytes`. Uses only whole units, so that nothing is rounded. */
export function formatBytes(bytes: number): string {
  if (bytes > 0 && bytes % bytesOf.MiB === 0) return `${bytes / bytesOf.MiB} MiB`
  return bytes > 0 && bytes % bytesOf.KiB === 0 ? `${bytes / bytesOf.KiB} KiB` : `${bytes} bytes`
}

/** Reads `32MiB`, `64KiB`, `512` (bytes) into bytes; undefined for any other text. */
export function parseBytes(text: string): number | undefined {
  const match = bytesText.exec(text)
  return match ? Math.round(Number(match[1]) * bytesOf[(match[2] ?? 'B') as keyof typeof bytesOf]) : undefined
}
