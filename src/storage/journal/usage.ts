import { firstIdAt } from '../../util/ids.ts'
import { useSuffix } from '../../plugin-api/image-tool.ts'
import type { UsageMatch, UsageRow } from '../../domain/index.ts'
import type { UsageCounts } from '../../domain/shapes/usage-row.ts'
import { ask, type QueryProgram, type Row, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { addBooked } from './booked.ts'
import { dayMs } from './summed.ts'
import { TokenWalk } from './tokens.ts'
import { placeOfRow, Uses } from './uses.ts'

const rowsTogether = 2_000

/** Charged usage by day, key and model, oldest first, of charges in rows and in charge batches. */
export function* sumUsage(match: UsageMatch): QueryProgram<readonly UsageRow[]> {
  const uses = new Uses()
  const sql = ofRows(match)
  const found = yield ask(sql.sums, ...sql.params)
  for (const row of found) uses.add(placeOfRow(row), countsOf(row))
  if (found.length > 0) yield* addTokens(uses, match, sql)
  yield* addBooked(uses, match)
  return uses.inOrder()
}

/** The SQL that adds up charges in rows, and the SQL that lists them by id. */
type Sums = {
  readonly sums: string
  readonly list: string
  /** The range of ids: `from` (inclusive) to `before` (exclusive). */
  readonly params: readonly [from: string, before: string, ...Value[]]
}

/** The SQL for charges in separate rows. */
function ofRows(match: UsageMatch): Sums {
  const { where, params } = conditions(match)
  return {
    params,
    sums: `SELECT created_at / ${dayMs} AS day, user_name, key_id, model, currency,
      count(DISTINCT replace(id, '${useSuffix}', '')) AS requests, sum(amount) AS amount,
      sum((SELECT count(*) FROM line WHERE line.charge_id = charge.id AND line.quantity IS NULL)) AS images,
      sum((SELECT coalesce(sum(e.amount), 0) FROM entry e WHERE e.charge_id = charge.id AND e.kind = 'refund')) AS refunded
      FROM charge WHERE state = 'settled' AND ${where} GROUP BY 1, 2, 3, 4, 5`,
    list: `SELECT id, created_at / ${dayMs} AS day, user_name, key_id, model, currency FROM charge
      WHERE state = 'settled' AND ${where} ORDER BY id LIMIT ${rowsTogether}`,
  }
}

function countsOf(row: Row): Partial<UsageCounts> {
  const [requests, amount] = [whole(row, 'requests'), whole(row, 'amount')]
  return { requests, amount, images: whole(row, 'images'), refunded: whole(row, 'refunded') }
}

function conditions({ since, until, user, keyId }: UsageMatch) {
  const all = ['id >= ?', 'id < ?']
  const own: string[] = []
  for (const [column, word] of [
    ['user_name', user],
    ['key_id', keyId],
  ] as const) {
    if (word === undefined) continue
    all.push(`${column} = ?`)
    own.push(word)
  }
  const params = [firstIdAt('req_', since), firstIdAt('req_', until), ...own] as const
  return { where: all.join(' AND '), params }
}

/** Adds the tokens of requests that are still in the log. */
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
      if (own) uses.add(placeOfRow(charge), own)
    }
    if (charges.length < rowsTogether) return
    from = `${text(last, 'id')}.~`
  }
}
