/** A JSON or YAML number as its decimal digits: `1.5e-7` → `0.00000015`. Undefined if it is not an amount of money. */
export function toDecimal(value: unknown): string | undefined {
  if (typeof value === 'string' && value.trim() !== '') return toDecimal(Number(value))
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return shiftPoint(String(value), 0)
}

/** Moves the decimal point to the right: `0.00000015` by 6 is `0.15`. Exact, because it uses no arithmetic. */
export function shiftPoint(number: string, places: number): string {
  const [mantissa = '0', exponent = '0'] = number.split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const point = whole.length + Number(exponent) + places
  const digits = `${whole}${fraction}`
  const padded = point > 0 ? digits.padEnd(point, '0') : digits.padStart(digits.length - point, '0')
  const at = Math.max(0, point)
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '') || '0'
  const right = padded.slice(at).replace(/(?<!0)0+$/, '')
  return right === '' ? left : `${left}.${right}`
}

/** A price in the form of the configuration: at least two places, at most six; undefined if it needs more than six. */
export function toPrice(decimal: string): string | undefined {
  const [whole = '0', fraction = ''] = decimal.split('.')
  if (fraction.length > 6 || whole.length > 9) return undefined
  return `${whole}.${fraction.padEnd(2, '0')}`
}

/** A price rounded half up to six places; undefined if the result is 0 or too large. */
export function toRoundedPrice(decimal: string): string | undefined {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const micros = BigInt(whole + fraction.slice(0, 6).padEnd(6, '0')) + (fraction.charAt(6) >= '5' ? 1n : 0n)
  return micros === 0n ? undefined : toPrice(shiftPoint(String(micros), -6))
}

/** The decimal digits of a number in any notation, such as `2.5e-07`; undefined for invalid or negative numbers. */
export function readDecimal(text: string): string | undefined {
  const written = text.trim().toLowerCase()
  return /^\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?$/.test(written) ? shiftPoint(written, 0) : undefined
}

export function isZero(decimal: string): boolean {
  return /^[0.]*$/.test(decimal)
}

/** The product of decimals, exact. */
export function multiply(...decimals: readonly string[]): string {
  let digits = 1n
  let places = 0
  for (const decimal of decimals) {
    const [whole = '0', fraction = ''] = decimal.split('.')
    digits *= BigInt(whole + fraction)
    places += fraction.length
  }
  return shiftPoint(String(digits), -places)
}

/**
 * Removes the noise that floating point leaves in tables: `0.24999999999999997` was 0.25, `0.30000000000000004` 0.3.
 * Digits beyond the sixth place that are not noise stay.
 */
export function withoutNoise(decimal: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const [kept, rest] = [fraction.slice(0, 6), fraction.slice(6)]
  if (/^0{5}/.test(rest)) return shiftPoint(`${whole}.${kept}`, 0)
  if (!/^9{5}/.test(rest)) return decimal
  return shiftPoint(String(BigInt(whole + kept) + 1n), -6)
}
