import type { Row } from '../world/storage.ts'
import { type Ask, idOf, isRepeated, isReplay, made, statusOf, type Usage } from '../play/asks.ts'
import type { Stage } from '../play/stage.ts'
import { factorOf, imagePrices, isBeyond, multiplierOf, tierOf, tokenPrices } from '../play/settings.ts'
import type { Oracle } from './oracle.ts'

/** Charges for text are written in batches after their answers: a crash loses at most one batch. */
const batchMs = 2_000

export const price: Oracle = {
  name: 'price',
  promise:
    'Each line has the price of what it is for: of an image by its real size, of tokens exactly, rounded once with what earlier charges of the key left over.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      if (isReplay(ask)) continue
      const charge = books.chargeOf(ask)
      const { operation } = ask.wish
      const isBoth = operation === 'responses' || operation === 'sketch'
      const ofImages = operation === 'image' || operation === 'edit' || isBoth
      if (charge && ofImages) yield* judgeImages(stage, ask, books.linesOf(String(charge['id'])))
      const use = isBoth ? books.chargeOf(ask, '.u') : ofImages ? undefined : charge
      if (!ofImages || isBoth) yield* judgeUse(stage, ask, use, use && books.linesOf(String(use['id'])))
    }
  },
}

function* judgeImages(stage: Stage, ask: Ask, lines: readonly Row[]): Iterable<readonly [string, string]> {
  const byRequest = ask.wish.model.startsWith('beta')
  const sizes = made(ask).map(one => `${one.width}x${one.height}`)
  const factors = stage.settingsOf(ask).map(one => factorOf(ask.wish.model, one))
  for (const line of lines) {
    // The cost that a person decided.
    if (line['tier'] === 'decided') continue
    const size = `${line['width']}x${line['height']}`
    const sides = ask.wish.size?.split('x').map(Number) ?? []
    const wanted = byRequest ? tierOf(sides.length > 0 ? Math.max(...sides) : 2_048) : tierOfSize(size)
    const detail = `ask ${ask.no}: ${line['price']} for ${size}, asked ${ask.wish.size}`
    if (!byRequest && !sizes.includes(size)) yield ['a line for a size that nobody made', detail]
    else if (!factors.some(factor => line['price'] === imagePrices[wanted] * factor))
      yield ['an image has another price', detail]
    if (isBeyond(ask.wish.model, wanted) !== String(line['flags']).includes('larger_than_expected'))
      yield ['an image is charged beyond its hold without a flag, or flagged without reason', detail]
  }
}

function tierOfSize(size: string) {
  return tierOf(Math.max(...size.split('x').map(Number)))
}

/** The exact charge, to the micro-unit, of a complete answer with reported usage. */
function* judgeUse(
  stage: Stage,
  ask: Ask,
  charge: Row | undefined,
  lines: readonly Row[] = [],
): Iterable<readonly [string, string]> {
  const arrival = ask.arrivals.at(-1)
  if (!arrival?.usage || arrival.wholeAt === undefined || ask.disturbed !== undefined || ask.left) return
  if (statusOf(ask) !== 200 || !ask.answer?.whole || isRepeated(stage.asks, ask)) return
  const key = stage.keys[ask.wish.key]
  if (!key) return
  const { usage } = arrival
  const sums = stage
    .settingsOf(ask)
    .flatMap(one =>
      key.groups.map(group => sumOf(ask.wish.model, usage, multiplierOf[group], factorOf(ask.wish.model, one))),
    )
  const found = lines.reduce((sum, line) => sum + BigInt(String(line['price'])), 0n)
  const isLost = stage.lives.crashes.some(at => at >= ask.sentAt && at < (ask.endedAt ?? at) + batchMs)
  // After a crash between the last byte and the charge, the hold goes to review.
  if (isLost && charge?.['reason'] === 'gateway_stopped') return
  if (charge === undefined && sums.every(sum => sum >= microParts) && !isLost && !isInLog(stage, ask))
    yield ['what was used has no charge', `ask ${ask.no}: ${Number(sums[0]) / 1e6} micro-units`]
  else if (charge !== undefined && !sums.some(sum => isRounded(found, sum)))
    yield [
      'what was used has another price',
      `ask ${ask.no}: ${found}, not ${sums
        .map(Number)
        .map(sum => sum / 1e6)
        .join(' or ')}`,
    ]
}

/** Whether a gateway that stopped could not write the charge, and logged it instead. */
function isInLog({ lives }: Stage, ask: Ask): boolean {
  const id = idOf(ask) ?? ''
  return lives.errors.some(
    ({ text, facts }) => text === 'a charge is not known to be written' && facts.includes(`facts: { id: '${id}`),
  )
}

/** Sums are counted in these fractions of a micro-unit. */
const microParts = 1_000_000n

/** The rounding remainder of earlier charges is at most half a micro-unit, and so is that of this one. */
function isRounded(found: bigint, sum: bigint): boolean {
  const away = found * microParts - sum
  return away <= microParts && away >= -microParts
}

/** In fractions of a micro-unit. */
function sumOf(
  model: string,
  { input, cached, output }: Usage,
  by: { readonly over: bigint; readonly under: bigint },
  factor: number,
): bigint {
  const prices = tokenPrices[model] ?? {}
  const cost = (tokens: number, unit: string): bigint =>
    (BigInt(tokens) * BigInt((prices[unit] ?? 0) * factor) * by.over * microParts) / (1_000_000n * by.under)
  const isCachedCheaper = prices['cached_input'] !== undefined
  const fresh = isCachedCheaper ? input - cached : input
  return cost(fresh, 'input') + (isCachedCheaper ? cost(cached, 'cached_input') : 0n) + cost(output, 'output')
}
