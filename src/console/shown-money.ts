import { amountOf, microsOf } from './money.ts'

const cent = 10_000n

/**
 * An amount in headlines and tables: two decimals and thousands separators. An amount below a tenth has two significant
 * digits, so that it is never shown as 0. A negative amount has a minus sign, not a hyphen.
 */
export function shownAmount(amount: string): string {
  const micros = microsOf(amount)
  return grouped(amountOf(roundTo(micros, unitOf(micros))))
}

/** All decimals of an amount, with thousands separators. */
export function shownExact(amount: string): string {
  return grouped(amount)
}

/** Thousands separators in a sentence of amounts and counts: `2 × 1234.50 = 2469.00 USD`. */
export function groupNumbers(sentence: string): string {
  return sentence.replaceAll(/(?<![\w.])\d{4,}(?!\w)/g, grouped)
}

/**
 * An amount in a column with others of more than 0.10: two decimals for alignment; less than half a cent is `< 0.01`.
 * Null if the amount is not that small.
 */
export function shownAsSmall(amount: string): string | null {
  const micros = microsOf(amount)
  const size = micros < 0n ? -micros : micros
  if (size === 0n || size >= cent * 10n) return null
  const text = amountOf(roundTo(size, cent))
  if (text === '0.00') return micros < 0n ? '> −0.01' : '< 0.01'
  return micros < 0n ? `−${text}` : text
}

/** A forecast with three digits, which is its accuracy. An integer from 100 on. */
export function shownForecast(amount: string): string {
  const micros = microsOf(amount)
  const size = micros < 0n ? -micros : micros
  const unit = 10n ** BigInt(Math.max(0, String(size).length - 3))
  const rounded = roundTo(micros, size < cent * 100n ? unitOf(micros) : unit < cent ? cent : unit)
  const text = grouped(amountOf(rounded))
  return `≈ ${size >= 100_000_000n ? text.replace(/\.\d+$/, '') : text}`
}

/** The number of decimals in a shown amount. */
export function placesOf(shown: string): number {
  return shown.length - shown.indexOf('.') - 1
}

/** The value of the last shown digit, in micro-units. */
function unitOf(micros: bigint): bigint {
  const digits = String(micros < 0n ? -micros : micros).length
  return digits > 5 ? cent : digits > 2 ? 10n ** BigInt(digits - 2) : 1n
}

/** Rounds half away from zero. */
function roundTo(micros: bigint, unit: bigint): bigint {
  const size = micros < 0n ? -micros : micros
  const rounded = ((size + unit / 2n) / unit) * unit
  return micros < 0n ? -rounded : rounded
}

function grouped(amount: string): string {
  return amount.replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => {
    const head = whole.length % 3
    const rest = whole.slice(head).match(/.{3}/g) ?? []
    return (sign && '−') + [...(head > 0 ? [whole.slice(0, head)] : []), ...rest].join(',')
  })
}
