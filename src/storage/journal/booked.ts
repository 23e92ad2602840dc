import { firstIdAt } from '../../util/ids.ts'
import { requestOfCharge, useSuffix } from '../../plugin-api/image-tool.ts'
import type { UsageMatch } from '../../domain/index.ts'
import { type UsageCounts, usageMembers } from '../../domain/shapes/usage-row.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findBooked } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { dayMs, eachBooking, partsOutside, wholeSteps } from './summed.ts'
import { type Tokens, TokenWalk } from './tokens.ts'
import { type Place, placeOfRow, samePlace, type Uses } from './uses.ts'

/** Adds charges in batches: whole days from the sums, the rest one by one. */
export function* addBooked(uses: Uses, match: UsageMatch): QueryProgram<void> {
  const { since, until, user, keyId } = match
  const days = wholeSteps(since, until, dayMs)
  const conditions = [user !== undefined && 'AND user_name = ?', keyId !== undefined && 'AND key_id = ?']
  const own = [user, keyId].filter(one => one !== undefined)
  const sums = yield ask(
    `SELECT day, user_name, key_id, model, currency, sum(requests) AS requests, sum(amount) AS amount,
     sum(input_tokens) AS input, sum(output_tokens) AS output FROM usage_sum
     WHERE begun >= ? AND begun < ? ${conditions.filter(Boolean).join(' ')} GROUP BY 1, 2, 3, 4, 5`,
    days.from,
    days.to,
    ...own,
  )
  for (const row of sums) {
    const [inputTokens, outputTokens] = [whole(row, 'input'), whole(row, 'output')]
    uses.add(placeOfRow(row), {
      requests: whole(row, 'requests'),
      amount: whole(row, 'amount'),
      inputTokens,
      outputTokens,
    })
  }
  for (const part of partsOutside(days, since, until)) {
    const walk = new TokenWalk({ ...match, since: part.since })
    yield* eachBooking(part, function* (some) {
      const own = some.filter(booked => isOf(booked, match))
      const last = own.at(-1)
      if (!last) return
      for (const [one, counts] of yield* countUses(own, yield* walk.upTo(last.id))) uses.add(placeOf(one), counts)
    })
  }
  yield* addGivenBack(uses, match)
}

/** The usage of charges, with the tokens of their requests from the log. */
export function* countUses(
  some: readonly Booked[],
  tokens: ReadonlyMap<string, Tokens>,
): QueryProgram<readonly (readonly [Booked, Partial<UsageCounts>])[]> {
  const placed = yield* findPlaces(some)
  return some.map(one => {
    // If the images of a request are charged too, its tokens have a separate charge.
    const isOfImages = one.id.endsWith(useSuffix) && samePlace(placed.get(requestOfCharge(one.id)), placeOf(one))
    return [one, { requests: isOfImages ? 0 : 1, amount: one.amount, ...tokens.get(one.id) }]
  })
}

function isOf({ payer }: Booked, { user, keyId }: UsageMatch): boolean {
  return (user === undefined || payer.user_name === user) && (keyId === undefined || payer.key_id === keyId)
}

export function placeOf({ payer, terms, at }: Booked): Place {
  const day = usageMembers.day.read(Math.floor(at / dayMs))
  return { day, user: payer.user_name, keyId: payer.key_id, model: terms.model, currency: terms.currency }
}

/** The places of image charges whose requests also have one of these charges of use. */
function* findPlaces(booked: readonly Booked[]): QueryProgram<ReadonlyMap<string, Place>> {
  const ids = booked.flatMap(({ id }) => (id.endsWith(useSuffix) ? [requestOfCharge(id)] : []))
  const rows = yield* selectIn(
    `SELECT id, user_name, key_id, model, currency, created_at / ${dayMs} AS day FROM charge WHERE state = 'settled' AND id IN (…)`,
    ids,
  )
  return new Map(rows.map(row => [text(row, 'id'), placeOfRow(row)]))
}

/** Adds refunds, which no sum includes, because they are few and irregular. */
function* addGivenBack(uses: Uses, match: UsageMatch): QueryProgram<void> {
  const rows = yield ask(
    'SELECT charge_id, amount FROM reversal WHERE charge_id >= ? AND charge_id < ?',
    firstIdAt('req_', match.since),
    firstIdAt('req_', match.until),
  )
  const booked = yield* findBooked(rows.map(row => text(row, 'charge_id')))
  for (const row of rows) {
    const one = booked.get(text(row, 'charge_id'))
    if (one && isOf(one, match)) uses.add(placeOf(one), { refunded: whole(row, 'amount') })
  }
}
