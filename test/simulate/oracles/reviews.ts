import { type Ask, isRepeated, made } from '../play/asks.ts'
import type { Books } from '../play/books.ts'
import { mostExpensiveTier, factorOf, imagePrices, tierOf } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Oracle } from './oracle.ts'

/** A crash may undo changes that were visible by then, unless they were acknowledged. */
const untoldMs = 10_000

export const reviews: Oracle = {
  name: 'reviews',
  promise:
    'What waits for a person waits until one decides; what may have held an image keeps its hold, and keys hold exactly that.',
  *judge({ stage, books }) {
    yield* judgeEnds(stage, books)
    yield* judgeHolds(books)
    for (const ask of stage.asks) yield* judgeUnknown(stage, books, ask)
  },
}

/** No charge under review ends by itself, unless the configuration says so. */
function* judgeEnds(stage: Stage, books: Books): Iterable<readonly [string, string]> {
  const mayLapse = stage.settingsBetween(0).some(settings => settings.lapses)
  for (const [id, { at }] of stage.waiting) {
    const charge = books.charges.get(id)
    if (charge?.['state'] === 'needs_review' || stage.decisions.some(one => one.id === id)) continue
    if (mayLapse && String(charge?.['reason']).includes('nobody decided in time')) continue
    if (stage.lives.crashes.some(crash => crash >= at && crash < at + untoldMs)) continue
    yield ['a review has ended by itself', `${id}: ${charge?.['state']} ${charge?.['reason']}`]
  }
}

/** At rest nothing else has a hold. */
function* judgeHolds(books: Books): Iterable<readonly [string, string]> {
  const kept = new Map<unknown, number>()
  for (const charge of books.charges.values())
    if (charge['state'] === 'reserved' || (charge['state'] === 'needs_review' && charge['kept'] === 1))
      kept.set(charge['key_id'], (kept.get(charge['key_id']) ?? 0) + Number(charge['hold']))
  for (const key of books.keys) {
    const wanted = kept.get(key['id']) ?? 0
    if (key['held'] !== wanted)
      yield ['a key holds another sum than its reviews', `${key['name']}: ${key['held']}, not ${wanted}`]
  }
}

/** A complete answer with pictures that were not recognised goes to review, with its highest possible price. */
function* judgeUnknown(stage: Stage, books: Books, ask: Ask): Iterable<readonly [string, string]> {
  const arrival = ask.arrivals.at(-1)
  const charge = books.chargeOf(ask)
  const { operation, model } = ask.wish
  if (!arrival || !charge || arrival.known || arrival.failed || arrival.wholeAt === undefined) return
  if ((operation !== 'image' && operation !== 'edit') || made(ask).length === 0) return
  if (ask.left || ask.disturbed !== undefined || isRepeated(stage.asks, ask)) return
  const id = String(charge['id'])
  if (books.linesOf(id).length > 0 || stage.decisions.some(one => one.id === id)) return
  if (String(charge['reason']).includes('nobody decided in time')) return
  const detail = `ask ${ask.no}: ${arrival.shape}, ${charge['state']} ${charge['reason']}, hold ${charge['hold']}`
  if (charge['state'] !== 'needs_review') yield ['an answer that nobody recognised does not wait', detail]
  else if (charge['kept'] !== 1) yield ['an answer that nobody recognised holds nothing', detail]
  const sums = stage.settingsOf(ask).map(settings => mostExpensiveOf(ask) * factorOf(model, settings))
  if (!sums.includes(Number(charge['hold'])))
    yield ['a hold is not the dearest that may come', `${detail}: ${sums.join(' or ')}`]
}

/** Computed independently: the requested number, at the highest price of any possible tier. */
function mostExpensiveOf({ wish }: Ask): number {
  if (!wish.model.startsWith('beta')) return wish.n * imagePrices[mostExpensiveTier(wish.model)]
  const sides = wish.size?.split('x').map(Number) ?? [2_048]
  return wish.n * imagePrices[tierOf(Math.max(...sides))]
}
