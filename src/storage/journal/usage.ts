import { firstIdAt } from '../../kit/ids.ts'
import { useChargeId } from '../../kit/image-tool.ts'
import type { UsageMatch, UsageRow } from '../../kit/index.ts'
import { addUse, beginUse, usageMembers } from '../../kit/shapes/usage-row.ts'
import { askIn } from '../ask-in.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, toUsageRow, whole } from '../rows.ts'
import type { Booked } from '../segments/parse.ts'
import { SegmentWalk } from '../segments/walk.ts'
import { TokenWalk } from './tokens.ts'

const dayMs = 86_400_000
const usePart = useChargeId('')
const rowsTogether = 2_000
const names = ['day', 'user', 'keyId', 'model', 'currency'] as const

/** Charged use by day, key and model, oldest first: of charges in rows and of those in segments. */
export function* sumUsage(match: UsageMatch): QueryProgram<readonly UsageRow[]> {
  const uses = new Uses()
  for (const sql of [ofRows(match), ofAlone(match)]) {
    const found = yield ask(sql.sums, ...sql.params)
    for (const row of found) uses.add(toUsageRow(row))
    if (found.length > 0) yield* addTokens(uses, match, sql)
  }
  yield* addBooked(uses, match)
  return uses.inOrder()
}

/** Rows of use, of each kind one. */
class Uses {
  readonly #uses = new Map<string, UsageRow>()

  add(use: UsageRow): void {
    const place = names.map(name => use[name]).join('\n')
    const known = this.#uses.get(place)
    this.#uses.set(place, known ? addUse(known, use) : use)
  }

  inOrder(): readonly UsageRow[] {
    return [...this.#uses.values()].sort((a, b) => {
      for (const name of names) if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
      return 0
    })
  }
}

/** How charges of one table are added up, and how they are listed by their ids. */
type Sums = {
  readonly sums: string
  readonly list: string
  /** From the first id on and before the last one. */
  readonly params: readonly [from: string, before: string, ...Value[]]
}

/** Of charges in rows of their own. */
function ofRows(match: UsageMatch): Sums {
  const { where, params } = conditions('charge', 'id', match)
  return {
    params,
    sums: `SELECT created_at / ${dayMs} AS day, user_name, key_id, model, currency,
      count(DISTINCT replace(id, '${usePart}', '')) AS requests, sum(amount) AS amount, 0 AS input_tokens, 0 AS output_tokens,
      sum((SELECT count(*) FROM line WHERE line.charge_id = charge.id AND line.quantity IS NULL)) AS images,
      sum((SELECT coalesce(sum(e.amount), 0) FROM entry e WHERE e.charge_id = charge.id AND e.kind = 'refund')) AS refunded
      FROM charge WHERE state = 'settled' AND ${where} GROUP BY 1, 2, 3, 4, 5`,
    list: `SELECT id, created_at / ${dayMs} AS day, user_name, key_id, model, currency FROM charge
      WHERE state = 'settled' AND ${where} ORDER BY id LIMIT ${rowsTogether}`,
  }
}

/** Of charges that are alone in their segments. */
function ofAlone(match: UsageMatch): Sums {
  const { where, params } = conditions('segment', 'last_id', match)
  return {
    params,
    sums: `SELECT at / ${dayMs} AS day, user_name, key_id, model, currency, count(*) AS requests, sum(segment.amount) AS amount,
      0 AS input_tokens, 0 AS output_tokens, 0 AS images, coalesce(sum(reversal.amount), 0) AS refunded
      FROM segment LEFT JOIN reversal ON reversal.charge_id = segment.first_id
      WHERE segment.amount IS NOT NULL AND ${where} GROUP BY 1, 2, 3, 4, 5`,
    list: `SELECT last_id AS id, at / ${dayMs} AS day, user_name, key_id, model, currency FROM segment
      WHERE amount IS NOT NULL AND ${where} ORDER BY last_id LIMIT ${rowsTogether}`,
  }
}

function conditions(table: string, id: string, { since, until, user, keyId }: UsageMatch) {
  const all = [`${table}.${id} >= ?`, `${table}.${id} < ?`]
  const own: string[] = []
  for (const [column, word] of [
    ['user_name', user],
    ['key_id', keyId],
  ] as const) {
    if (word === undefined) continue
    all.push(`${table}.${column} = ?`)
    own.push(word)
  }
  const params = [firstIdAt('req_', since), firstIdAt('req_', until), ...own] as const
  return { where: all.join(' AND '), params }
}

/** What the log still has of their tokens. */
function* addTokens(uses: Uses, match: UsageMatch, { list, params }: Sums): QueryProgram<void> {
  const walk = new TokenWalk(match)
  const [first, ...others] = params
  for (let from: string = first; ; ) {
    const charges = yield ask(list, from, ...others)
    const last = charges.at(-1)
    if (!last) return
    const tokens = yield* walk.upTo(text(last, 'id'))
    for (const charge of charges) {
      const own = tokens.get(text(charge, 'id'))
      if (!own) continue
      const place = { ...beginUse(placeOfRow(charge)) }
      uses.add(addUse(place, { inputTokens: own.inputTokens ?? 0, outputTokens: own.outputTokens ?? 0 }))
    }
    if (charges.length < rowsTogether) return
    from = `${text(last, 'id')}.~`
  }
}

type Place = Parameters<typeof beginUse>[0]

/** `day` as days since the epoch. */
function placeOfRow(row: Row): Place {
  const [user, keyId] = [text(row, 'user_name'), text(row, 'key_id')]
  return {
    day: usageMembers.day.read(row['day']),
    user,
    keyId,
    model: text(row, 'model'),
    currency: text(row, 'currency'),
  }
}

/** Of charges in segments of several. */
function* addBooked(uses: Uses, match: UsageMatch): QueryProgram<void> {
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
      const { inputTokens, outputTokens } = tokens.get(one.id) ?? { inputTokens: 0, outputTokens: 0 }
      // The tokens of a request whose images are charged too have a charge of their own.
      const isBeside = one.id.endsWith(usePart) && samePlace(placed.get(one.id.slice(0, -usePart.length)), place)
      uses.add(
        addUse(beginUse(place), {
          requests: isBeside ? 0 : 1,
          amount: one.amount,
          inputTokens: inputTokens ?? 0,
          outputTokens: outputTokens ?? 0,
          refunded: refunds.get(one.id) ?? 0,
        }),
      )
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

function samePlace(a: Place | undefined, b: Place): boolean {
  return a !== undefined && names.every(name => a[name] === b[name])
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
