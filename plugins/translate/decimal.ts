/** More decimal places than any vendor's unit has. */
const places = 18

/**
 * A number in JSON or a quoted text, multiplied by a decimal, as a decimal without trailing zeros; undefined if it is
 * not a number.
 */
export function multiply(number: string, by: string): string | undefined {
  const one = parse(number)
  const other = parse(by)
  if (one === undefined || other === undefined) return undefined
  return format((one * other) / 10n ** BigInt(places))
}

export function add(one: string, other: string): string {
  return format((parse(one) ?? 0n) + (parse(other) ?? 0n))
}

function parse(text: string): bigint | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^\s*(-?)(\d{1,30})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?\s*$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const shift = places + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift)
  return sign === '-' ? -scaled : scaled
}

function format(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0')
  let end = digits.length
  while (end > digits.length - places && digits[end - 1] === '0') end--
  const fraction = digits.slice(digits.length - places, end)
  return `${value < 0n ? '-' : ''}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}
