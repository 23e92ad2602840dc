import type { Row } from '../world/storage.ts'
import { type Ask, codeOf, isRepeated, statusOf } from '../play/asks.ts'
import type { Books } from '../play/books.ts'
import { factorOf, missingOf, multiplierOf, tokenPrices } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Oracle } from './oracle.ts'

const bytesPerToken = 4
const notLeft = 'a charge could not be left for review; it is charged as estimated'
/** A generous bound for the bytes around an answer's text. */
const aroundIt = 600

export const text: Oracle = {
  name: 'text',
  promise:
    'Text whose use nobody told, or told as it cannot be, is charged by its length and flagged, waits for a person, or is refused: as its family says.',
  *judge({ stage, books }) {
    for (const ask of stage.asks) {
      const arrival = ask.arrivals.at(-1)
      if (ask.wish.operation !== 'chat' || arrival?.odd === undefined || arrival.wholeAt === undefined) continue
      if (ask.left || ask.disturbed !== undefined || isRepeated(stage.asks, ask)) continue
      yield* judge(stage, books, ask)
    }
  },
}

function* judge(stage: Stage, books: Books, ask: Ask): Iterable<readonly [string, string]> {
  const [arrival] = ask.arrivals.slice(-1)
  if (!arrival) return
  const settings = stage.settingsOf(ask)
  const rules = new Set(settings.map(one => missingOf(ask.wish.model, one)))
  const [rule] = rules
  if (rules.size !== 1 || rule === undefined) return
  const charge = books.chargeOf(ask)
  const lines = charge ? books.linesOf(String(charge['id'])) : []
  const detail = `ask ${ask.no}: ${ask.wish.model} ${arrival.shape}, ${statusOf(ask)}, ${charge?.['state']} ${charge?.['reason'] ?? ''}`
  if (arrival.odd === 'unsaid' && rule === 'refuse' && !ask.wish.stream) {
    if (statusOf(ask) !== 502 || codeOf(ask) !== 'upstream_usage_missing')
      yield ['an answer without use is not refused', detail]
    if (lines.length > 0) yield ['an answer that was refused is charged', detail]
    return
  }
  if (statusOf(ask) !== 200 || ask.answer?.whole !== true) return
  const flag = arrival.odd === 'unsaid' ? 'usage_missing' : 'usage_implausible'
  const waits = arrival.odd === 'absurd' || rule !== 'estimate'
  const isDecided = stage.decisions.some(one => one.id === charge?.['id'])
  // If the disk prevents a review, the log reports it, and the charge is the estimate.
  const isTold = stage.lives.errors.some(one => one.text === notLeft && one.facts.includes(String(charge?.['id'])))
  // Until the end: a later configuration may end charges under review.
  const lapsed = stage.settingsBetween(ask.sentAt).some(one => one.lapses)
  if (lines.length === 0) yield ['text whose use was not told is free', detail]
  else if (!lines.some(line => hasFlags(line, [flag, 'estimated']))) yield ['an estimate is not flagged', detail]
  if (!isDecided && !isTold && !lapsed && charge && charge['state'] !== (waits ? 'needs_review' : 'settled'))
    yield [`text whose use was not told is ${charge['state']}`, detail]
  const [least, most] = boundsOf(stage, ask)
  const sum = lines.reduce((all, line) => all + Number(line['price']), 0)
  if (lines.length > 0 && (sum < least || sum > most))
    yield ['an estimate is far from the length of the text', `${detail}: ${sum}, not ${least} to ${most}`]
}

function hasFlags(line: Row, flags: readonly string[]): boolean {
  return flags.every(flag => String(line['flags']).includes(flag))
}

/** Computed independently, with the widest bounds that an estimate may have. */
function boundsOf(stage: Stage, ask: Ask): readonly [least: number, most: number] {
  const arrival = ask.arrivals.at(-1)
  const key = stage.keys[ask.wish.key]
  const prices = tokenPrices[ask.wish.model]
  if (!arrival || !key || !prices) return [0, Infinity]
  const factors = stage
    .settingsOf(ask)
    .flatMap(one => key.groups.map(group => factorOf(ask.wish.model, one) * ratio(multiplierOf[group])))
  // A plausible report is used as it is; text that repeats between events of a stream is not counted.
  const leastOutput =
    ask.wish.stream || arrival.shape === 'absurd-input' ? 0 : (arrival.textBytes / bytesPerToken) * 0.8
  const mostOutput = (Buffer.byteLength(arrival.body) + aroundIt) / bytesPerToken
  const mostInput = (arrival.requestBytes + aroundIt) / bytesPerToken
  const cost = (input: number, output: number): number =>
    (input * (prices['input'] ?? 0) + output * (prices['output'] ?? 0)) / 1_000_000
  return [
    Math.floor(cost(1, leastOutput) * Math.min(...factors)),
    Math.ceil(cost(mostInput, mostOutput) * Math.max(...factors)),
  ]
}

function ratio({ over, under }: { readonly over: bigint; readonly under: bigint }): number {
  return Number(over) / Number(under)
}
