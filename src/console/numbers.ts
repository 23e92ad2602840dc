import { permilleOf } from './money.ts'
import { language, t } from './words/index.ts'

const locale = () => (language.value === 'zh' ? 'zh-CN' : 'en-GB')

/** Made once: thousands of prices of a page would otherwise make one each. */
const short = {
  zh: new Intl.NumberFormat('zh-CN', { notation: 'compact' }),
  en: new Intl.NumberFormat('en-US', { notation: 'compact' }),
}

/** A large round number, abbreviated: 1M. In British English it would be 1m, which is a thousandth elsewhere. */
export function shortCount(value: number): string {
  return short[language.value].format(value)
}

/** The number of units that a price is for; seconds have names for it. */
export function perCount(per: number): string {
  return per === 60 ? t('per.minute') : per === 3600 ? t('per.hour') : shortCount(per)
}

export function count(value: number): string {
  return value.toLocaleString(locale())
}

/** Milliseconds in readable units. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toLocaleString(locale(), { maximumFractionDigits: 1 })} s`
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`
  const unit = value < 1024 ** 2 ? 'KiB' : value < 1024 ** 3 ? 'MiB' : 'GiB'
  const divisor = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }[unit]
  return `${(value / divisor).toLocaleString(locale(), { maximumFractionDigits: 1 })} ${unit}`
}

/** The share of a whole, as `12.3%`. A share above 0 is never shown as 0, nor as 100 % if there are others. */
export function shareOf(part: bigint, whole: bigint): string {
  const permille = permilleOf(part, whole)
  if (permille === undefined) return '–'
  if (permille === 0 && part > 0n) return `< ${percent(1, 'auto')}`
  if (permille === 1000 && part < whole) return `> ${percent(999, 'auto')}`
  return percent(permille, 'auto')
}

/** From this factor on, a change is shown as a multiple, because +33,333.3% is hard to read. */
const timesFrom = 10n
const timesMost = 1000n

/** The change of a sum, as `+12.3%`, or as `× 12` for a multiple. */
export function changeOf(now: bigint, before: bigint): string {
  if (before === 0n) return now === 0n ? '–' : t('costs.new')
  // A change from refunds has no percentage.
  if (before < 0n) return '–'
  if (now > timesMost * before) return `> × ${count(Number(timesMost))}`
  if (now >= timesFrom * before) return `× ${count(Number((now * 2n + before) / (before * 2n)))}`
  const permille = permilleOf(now - before, before) ?? 0
  return permille === 0 && now !== before ? `≈ ${percent(0, 'auto')}` : percent(permille, 'exceptZero')
}

function percent(permille: number, signDisplay: 'auto' | 'exceptZero'): string {
  return (permille / 1000).toLocaleString(locale(), { style: 'percent', maximumFractionDigits: 1, signDisplay })
}

/** The largest of 1, 2, 5, 10, 20 … up to a number of at least 1: the upper label of a small axis. */
export function roundBelow(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return ([5, 2].find(one => one * power <= most) ?? 1) * power
}
