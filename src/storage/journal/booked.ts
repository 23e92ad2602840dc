import { firstIdAt } from '../../kit/ids.ts'
import { useChargeId } from '../../kit/image-tool.ts'
import type { UsageMatch } from '../../kit/index.ts'
import { usageMembers } from '../../kit/shapes/usage-row.ts'
import { askIn } from '../ask-in.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Booked } from '../segments/parse.ts'
import { SegmentWalk } from '../segments/walk.ts'
import { TokenWalk } from './tokens.ts'
import { type Place, placeOfRow, samePlace, type Uses } from './uses.ts'

const dayMs = 86_400_000
const usePart = useChargeId('')

/** Of charges in segments of several. */
export function* addBooked(uses: Uses, match: UsageMatch): QueryProgram<void> {
  const walk = new SegmentWalk(firstIdAt('req_', match.since), firstIdAt('req_', match.until), 'several')
  const log = new TokenWalk(match)
  for (;;) {
    const some = yield* walk.next()
    const last = some.at(-1)
    if (!last) return
    const own = some.filter(one => isOf(one, match))
    const placed = yield* findPlaces(own)
    const tokens = yield* log.upTo(last.id)
    const refunds = yield* findGivenBack(own)
    for (const one of own) {
      const place = placeOf(one)
      // The tokens of a request whose images are charged too have a charge of their own.
      const isBeside = one.id.endsWith(usePart) && samePlace(placed.get(one.id.slice(0, -usePart.length)), place)
      uses.add(place, {
        requests: isBeside ? 0 : 1,
        amount: one.amount,
        ...tokens.get(one.id),
        refunded: refunds.get(one.id) ?? 0,
      })
    }
  }
}

function isOf({ payer }: Booked, { user, keyId }: UsageMatch): boolean {
  return (user === undefined || payer.user_name === user) && (keyId === undefined || payer.key_id === keyId)
}

function placeOf({ payer, terms, at }: Booked): Place {
  const day = usageMembers.day.read(Math.floor(at / dayMs))
  return { day, user: payer.user_name, keyId: payer.key_id, model: terms.model, currency: terms.currency }
}

/** Under what the charges of images are added up whose requests have charges of use here. */
function* findPlaces(booked: readonly Booked[]): QueryProgram<ReadonlyMap<string, Place>> {
  const ids = booked.flatMap(({ id }) => (id.endsWith(usePart) ? [id.slice(0, -usePart.length)] : []))
  const rows = yield* askIn(
    `SELECT id, user_name, key_id, model, currency, created_at / ${dayMs} AS day FROM charge WHERE state = 'settled' AND id IN (…)`,
    ids,
  )
  return new Map(rows.map(row => [text(row, 'id'), placeOfRow(row)]))
}

function* findGivenBack(booked: readonly Booked[]): QueryProgram<ReadonlyMap<string, number>> {
  const [first, last] = [booked[0], booked.at(-1)]
  if (!first || !last) return new Map()
  const rows = yield ask(
    'SELECT charge_id, amount FROM reversal WHERE charge_id >= ? AND charge_id <= ?',
    first.id,
    last.id,
  )
  return new Map(rows.map(row => [text(row, 'charge_id'), whole(row, 'amount')]))
}
