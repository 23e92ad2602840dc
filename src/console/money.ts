// Amounts are decimal strings with at most six decimals. Their sums are exact, in integer micro-units of any size.

/** `"0.04"` → `40_000n`. */
export function microsOf(amount: string): bigint {
  const [, sign, whole = '0', places = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(amount) ?? []
  const micros = BigInt(whole) * 1_000_000n + BigInt(places.padEnd(6, '0'))
  return sign === '-' ? -micros : micros
}

/** In the gateway's format: `40_000n` → `"0.04"`, with at least two decimals. */
export function amountOf(micros: bigint): string {
  const size = micros < 0n ? -micros : micros
  const places = String(size % 1_000_000n).padStart(6, '0')
  return `${micros < 0n ? '-' : ''}${size / 1_000_000n}.${places.slice(0, 2)}${places.slice(2).replace(/0{1,4}$/, '')}`
}

/** Thousandths of a whole, rounded half up; undefined if the whole is 0. */
export function permilleOf(part: bigint, whole: bigint): number | undefined {
  if (whole === 0n) return undefined
  const doubled = (part * 2000n) / whole
  return Number(doubled < 0n ? -((1n - doubled) / 2n) : (doubled + 1n) / 2n)
}
