/** A JSON or YAML number as its decimal digits: `1.5e-7` → `0.00000015`. Undefined for what is no amount of money. */
export function toDecimal(value: unknown): string | undefined {
  if (typeof value === 'string' && value.trim() !== '') return toDecimal(Number(value))
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return shiftPoint(String(value), 0)
}

/** The digits with the point moved to the right: `0.00000015` by 6 is `0.15`. Exact, as no arithmetic is done. */
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

/** A price as the configuration wants it: at least two places, at most six; undefined when six are not enough. */
export function toPrice(decimal: string): string | undefined {
  const [whole = '0', fraction = ''] = decimal.split('.')
  if (fraction.length > 6 || whole.length > 9) return undefined
  return `${whole}.${fraction.padEnd(2, '0')}`
}
