import type { Kysely } from 'kysely'
import { firstIdAt } from '../../kit/ids.ts'
import { useChargeId } from '../../kit/image-tool.ts'
import type { LogFilter, LogMatch, LogRow, LogStep, UsageMatch, UsageRow } from '../../kit/index.ts'
import { addUse, beginUse, usageMembers } from '../../kit/shapes/usage-row.ts'
import { askIn } from '../ask-in.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findBooked } from '../segments/find.ts'
import type { Booked } from '../segments/parse.ts'
import { eachOfSeveral, SegmentWalk } from '../segments/walk.ts'
import type { Tables } from '../tables.ts'
import { conditionsOf, rowsMax, within } from './match.ts'

const dayMs = 86_400_000
const usePart = useChargeId('')
const pageRowsMin = 100

/** Runs steps on the connection that the lists are made on. */
export type Run = <T>(steps: QueryProgram<T>) => T | Promise<T>

/** What charges in segments of several come to, by currency; of a user's alone where one is named. */
export function* sumBooked(since: number, until: number, user?: string): QueryProgram<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>()
  yield* eachOfSeveral(firstIdAt('req_', since), firstIdAt('req_', until), ({ payer, terms, amount }) => {
    if (user === undefined || payer.user_name === user)
      sums.set(terms.currency, (sums.get(terms.currency) ?? 0) + amount)
  })
  return sums
}

/** Use by charges in segments of several, by day, key, model and currency, in no order. */
export function* sumBookedUse(match: UsageMatch): QueryProgram<readonly UsageRow[]> {
  const uses = new Map<string, UsageRow>()
  const walk = new SegmentWalk(firstIdAt('req_', match.since), firstIdAt('req_', match.until), 'several')
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return [...uses.values()]
    const own = some.filter(one => isOf(one, match))
    const placed = yield* findPlaces(own)
    const tokens = yield* findTokens(own)
    const refunds = yield* findGivenBack(own)
    for (const one of own) {
      const place = placeOf(one)
      const [inputTokens = 0, outputTokens = 0] = tokens.get(one.id) ?? []
      // The tokens of a request whose images are charged too have a charge of their own.
      const isBeside = one.id.endsWith(usePart) && placed.get(one.id.slice(0, -usePart.length)) === place
      const counts = { requests: isBeside ? 0 : 1, amount: one.amount, inputTokens, outputTokens }
      const given = refunds.get(one.id)
      const use = addUse(uses.get(place) ?? beginUse(nameUse(one)), counts)
      uses.set(place, given === undefined ? use : addUse(use, { refunded: given }))
    }
  }
}

function isOf({ payer }: Booked, { user, keyId }: UsageMatch): boolean {
  return (user === undefined || payer.user_name === user) && (keyId === undefined || payer.key_id === keyId)
}

/** What its use is added up under. */
function placeOf({ payer, terms, at }: Booked): string {
  return JSON.stringify([Math.floor(at / dayMs), payer.user_name, payer.key_id, terms.model, terms.currency])
}

function nameUse({ payer, terms, at }: Booked): Parameters<typeof beginUse>[0] {
  const day = usageMembers.day.read(Math.floor(at / dayMs))
  return { day, user: payer.user_name, keyId: payer.key_id, model: terms.model, currency: terms.currency }
}

/** Under what the charges of images are added up whose requests have charges of use here. */
function* findPlaces(booked: readonly Booked[]): QueryProgram<ReadonlyMap<string, string>> {
  const ids = booked.flatMap(({ id }) => (id.endsWith(usePart) ? [id.slice(0, -usePart.length)] : []))
  const rows = yield* askIn(
    `SELECT id, user_name, key_id, model, currency, created_at FROM charge WHERE state = 'settled' AND id IN (…)`,
    ids,
  )
  return new Map(rows.map(row => [text(row, 'id'), placeOfRow(row)]))
}

function placeOfRow(row: Row): string {
  const day = Math.floor(whole(row, 'created_at') / dayMs)
  return JSON.stringify([day, row['user_name'], row['key_id'], row['model'], row['currency']])
}

/** What the log still has of their tokens. */
function* findTokens(
  booked: readonly Booked[],
): QueryProgram<ReadonlyMap<string, readonly [input: number, output: number]>> {
  const [first, last] = [booked[0], booked.at(-1)]
  if (!first || !last) return new Map()
  const rows = yield ask(
    `SELECT id, input_tokens, output_tokens FROM log
     WHERE id >= ? AND id <= ? AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL)`,
    first.id,
    last.id,
  )
  return new Map(rows.map(row => [text(row, 'id'), [whole(row, 'input_tokens'), whole(row, 'output_tokens')]]))
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

/** Requests with a charge in a segment of several by steps of time, in no order. */
export async function countBookedSteps(
  db: Kysely<Tables>,
  run: Run,
  match: LogMatch & { since: number; until: number },
  stepMs: number,
): Promise<readonly LogStep[]> {
  const { charge: _, ...others } = match
  const steps = new Map<number, { requests: number; errors: number }>()
  const walk = new SegmentWalk(firstIdAt('req_', match.since), firstIdAt('req_', match.until), 'several')
  for (;;) {
    const some = await run(walk.next())
    const [first, last] = [some[0], some.at(-1)]
    if (!first || !last) return [...steps].map(([from, counts]) => ({ from, ...counts }))
    const ids = new Set(some.map(({ id }) => id))
    const rows: readonly Row[] = await db
      .selectFrom('log')
      .select(['id', 'time', 'status', 'outcome'])
      .where(is => is.and([...conditionsOf(is, others), ...within('log.id', others)]))
      .where('log.id', '>=', first.id)
      .where('log.id', '<=', last.id)
      .execute()
    for (const row of rows) {
      if (!ids.has(text(row, 'id'))) continue
      const from = Math.floor(whole(row, 'time') / stepMs) * stepMs
      const { requests, errors } = steps.get(from) ?? { requests: 0, errors: 0 }
      const failed = Number(row['status']) >= 400 || row['outcome'] !== 'answered'
      steps.set(from, { requests: requests + 1, errors: errors + Number(failed) })
    }
  }
}

/** Those of some requests that have a settled charge, in rows or in a segment. */
function* findSettled(ids: readonly string[]): QueryProgram<ReadonlySet<string>> {
  const rows = yield* askIn(`SELECT id, state FROM charge WHERE id IN (…)`, ids)
  const states = new Map(rows.map(row => [text(row, 'id'), text(row, 'state')]))
  const booked = yield* findBooked(ids.filter(id => !states.has(id)))
  return new Set(ids.filter(id => states.get(id) === 'settled' || booked.has(id)))
}

/** A page of rows with a settled charge: most requests have one, so rows are gone through until there are enough. */
export async function listSettled(
  list: (filter: LogFilter) => Promise<readonly LogRow[]>,
  run: Run,
  { limit, ...wanted }: LogFilter,
): Promise<readonly LogRow[]> {
  const { charge: _, ...filter } = wanted
  const most = Math.min(Math.max(limit, 0), rowsMax)
  const pageRows = Math.max(most, pageRowsMin)
  const isOnward = filter.after !== undefined
  const found: LogRow[] = []
  for (let from: { readonly before?: string; readonly after?: string } = {}; found.length < most; ) {
    const page = await list({ ...filter, ...from, limit: pageRows })
    const inTurn = isOnward ? page.toReversed() : page
    const settled = await run(findSettled(page.map(({ id }) => id)))
    for (const row of inTurn) if (found.length < most && settled.has(row.id)) found.push(row)
    const last = inTurn.at(-1)
    if (!last || page.length < pageRows) break
    from = isOnward ? { after: last.id } : { before: last.id }
  }
  return isOnward ? found.toReversed() : found
}
