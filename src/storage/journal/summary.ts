import { type Kysely, sql } from 'kysely'
import { firstIdAt } from '../../kit/ids.ts'
import { useChargeId } from '../../kit/image-tool.ts'
import type { LogMatch, LogStep, Summary, UsageMatch, UsageRow } from '../../kit/index.ts'
import { addUse } from '../../kit/shapes/usage-row.ts'
import type { Row } from '../query.ts'
import { text, toUsageRow, whole } from '../rows.ts'
import type { Tables } from '../tables.ts'
import { countBookedSteps, type Run, sumBooked, sumBookedUse } from './booked.ts'
import { conditionsOf, within } from './match.ts'

const failed = sql<number>`CASE WHEN status >= 400 OR outcome <> 'answered' THEN 1 ELSE 0 END`
const dayMs = 86_400_000

export type Span = { readonly since: number; readonly until: number; readonly user?: string }

/** Requests by steps of time, oldest first; steps without any are left out. */
export async function countSteps(
  db: Kysely<Tables>,
  run: Run,
  match: LogMatch & { since: number; until: number },
  stepMs: number,
): Promise<readonly LogStep[]> {
  const inRows = await countRowSteps(db, match, stepMs)
  if (match.charge !== 'settled') return inRows
  const steps = new Map(inRows.map(step => [step.from, step]))
  for (const { from, requests, errors } of await countBookedSteps(db, run, match, stepMs)) {
    const step = steps.get(from)
    steps.set(from, { from, requests: requests + (step?.requests ?? 0), errors: errors + (step?.errors ?? 0) })
  }
  return [...steps.values()].sort((a, b) => a.from - b.from)
}

async function countRowSteps(
  db: Kysely<Tables>,
  match: LogMatch & { since: number; until: number },
  stepMs: number,
): Promise<readonly LogStep[]> {
  const from = sql<number>`(time / ${sql.lit(Math.floor(stepMs))}) * ${sql.lit(Math.floor(stepMs))}`
  const rows: readonly Row[] = await db
    .selectFrom('log')
    .select(({ fn }) => [from.as('start'), fn.countAll<number>().as('requests'), fn.sum<number>(failed).as('errors')])
    .where(is => is.and([...conditionsOf(is, match), ...within('log.id', match)]))
    .groupBy('start')
    .orderBy('start')
    .execute()
  return rows.map(row => ({
    from: whole(row, 'start'),
    requests: whole(row, 'requests'),
    errors: whole(row, 'errors'),
  }))
}

export async function summarize(db: Kysely<Tables>, run: Run, span: Span): Promise<Summary> {
  const [total, durations, spent, images] = await Promise.all([
    countAll(db, span),
    countDurations(db, span),
    sumSpent(db, run, span),
    countImages(db, span),
  ])
  return { ...total, p50Ms: quantile(durations, 0.5), p95Ms: quantile(durations, 0.95), spent, images }
}

async function countAll(db: Kysely<Tables>, span: Span) {
  const row: Row = await db
    .selectFrom('log')
    .select(({ fn }) => [
      fn.countAll<number>().as('requests'),
      fn.sum<number>(failed).as('errors'),
      fn.sum<number>('input_tokens').as('input_tokens'),
      fn.sum<number>('output_tokens').as('output_tokens'),
    ])
    .where(is => is.and([...conditionsOf(is, span), ...within('log.id', span)]))
    .executeTakeFirstOrThrow()
  return {
    requests: whole(row, 'requests'),
    errors: whole(row, 'errors'),
    inputTokens: whole(row, 'input_tokens'),
    outputTokens: whole(row, 'output_tokens'),
  }
}

type Duration = { readonly ms: number; readonly requests: number }

/** How many requests took how long, rounded up to two digits: some hundred rows, however many requests there were. */
async function countDurations(db: Kysely<Tables>, span: Span): Promise<readonly Duration[]> {
  const rounded = sql<number>`CASE WHEN duration_ms < 100 THEN duration_ms WHEN duration_ms < 1000
    THEN (duration_ms + 9) / 10 * 10 WHEN duration_ms < 10000 THEN (duration_ms + 99) / 100 * 100
    ELSE (duration_ms + 999) / 1000 * 1000 END`
  const rows: readonly Row[] = await db
    .selectFrom('log')
    .select(({ fn }) => [rounded.as('ms'), fn.countAll<number>().as('requests')])
    .where(is => is.and([...conditionsOf(is, span), ...within('log.id', span)]))
    .groupBy('ms')
    .orderBy('ms')
    .execute()
  return rows.map(row => ({ ms: whole(row, 'ms'), requests: whole(row, 'requests') }))
}

function quantile(durations: readonly Duration[], share: number): number | null {
  const all = durations.reduce((sum, one) => sum + one.requests, 0)
  let passed = 0
  for (const { ms, requests } of durations) {
    passed += requests
    if (passed >= all * share) return ms
  }
  return null
}

async function sumSpent(db: Kysely<Tables>, run: Run, { since, until, user }: Span): Promise<Summary['spent']> {
  let query = db
    .selectFrom('charge')
    .select(({ fn }) => ['currency', fn.sum<number>('amount').as('amount')])
    .where('state', '=', 'settled')
    .where('id', '>=', firstIdAt('req_', since))
    .where('id', '<', firstIdAt('req_', until))
    .groupBy('currency')
  let alone = db
    .selectFrom('segment')
    .select(({ fn }) => ['currency', fn.sum<number>('amount').as('amount')])
    .where('amount', 'is not', null)
    .where('last_id', '>=', firstIdAt('req_', since))
    .where('last_id', '<', firstIdAt('req_', until))
    .groupBy('currency')
  if (user !== undefined) {
    query = query.where('user_name', '=', user)
    alone = alone.where('user_name', '=', user)
  }
  const rows: readonly Row[] = [...(await query.execute()), ...(await alone.execute())]
  const sums = new Map(await run(sumBooked(since, until, user)))
  for (const row of rows) {
    const currency = text(row, 'currency')
    sums.set(currency, (sums.get(currency) ?? 0) + whole(row, 'amount'))
  }
  return [...sums].map(([currency, amount]) => ({ currency, amount })).sort(by(({ currency }) => [currency]))
}

async function countImages(db: Kysely<Tables>, { since, until, user }: Span): Promise<Summary['images']> {
  let query = db
    .selectFrom('line')
    .select(({ fn }) => ['line.tier', fn.countAll<number>().as('count')])
    .where('line.quantity', 'is', null)
    .where('line.charge_id', '>=', firstIdAt('req_', since))
    .where('line.charge_id', '<', firstIdAt('req_', until))
    .groupBy('line.tier')
    .orderBy('line.tier')
  if (user !== undefined)
    query = query.innerJoin('charge', 'charge.id', 'line.charge_id').where('charge.user_name', '=', user)
  const rows: readonly Row[] = await query.execute()
  return rows.map(row => ({ tier: text(row, 'tier'), count: whole(row, 'count') }))
}

/** Charged use by day, key and model, oldest first: of charges in rows and of those in segments. */
export async function sumUsage(db: Kysely<Tables>, run: Run, match: UsageMatch): Promise<readonly UsageRow[]> {
  const order = by((row: UsageRow) => [row.day, row.user, row.keyId, row.model, row.currency])
  const uses: UsageRow[] = []
  for (const use of [
    ...(await sumRowUse(db, match)),
    ...(await sumAloneUse(db, match)),
    ...(await run(sumBookedUse(match))),
  ].sort(order)) {
    const last = uses.at(-1)
    if (last && order(last, use) === 0) uses[uses.length - 1] = addUse(last, use)
    else uses.push(use)
  }
  return uses
}

/** By one word after the other, as the database sorts them. */
function by<T>(words: (one: T) => readonly string[]): (a: T, b: T) => number {
  return (a, b) => {
    const others = words(b)
    for (const [i, word] of words(a).entries()) {
      const other = others[i] ?? ''
      if (word !== other) return word < other ? -1 : 1
    }
    return 0
  }
}

async function sumRowUse(db: Kysely<Tables>, match: UsageMatch): Promise<readonly UsageRow[]> {
  let query = db
    .selectFrom('charge')
    .leftJoin('log', 'log.id', 'charge.id')
    .select(({ fn }) => [
      sql<number>`charge.created_at / ${sql.lit(dayMs)}`.as('day'),
      'charge.user_name',
      'charge.key_id',
      'charge.model',
      'charge.currency',
      // The tokens of a request whose images are charged too have a charge of their own.
      sql<number>`count(DISTINCT replace(charge.id, ${sql.lit(useChargeId(''))}, ''))`.as('requests'),
      fn.sum<number>('charge.amount').as('amount'),
      fn.sum<number>('log.input_tokens').as('input_tokens'),
      fn.sum<number>('log.output_tokens').as('output_tokens'),
      sql<number>`sum((SELECT count(*) FROM line WHERE line.charge_id = charge.id AND line.quantity IS NULL))`.as(
        'images',
      ),
      sql<number>`sum((SELECT coalesce(sum(e.amount), 0) FROM entry e WHERE e.charge_id = charge.id AND e.kind = 'refund'))`.as(
        'refunded',
      ),
    ])
    .where('charge.state', '=', 'settled')
    .where('charge.id', '>=', firstIdAt('req_', match.since))
    .where('charge.id', '<', firstIdAt('req_', match.until))
    .groupBy(['day', 'charge.user_name', 'charge.key_id', 'charge.model', 'charge.currency'])
  if (match.user !== undefined) query = query.where('charge.user_name', '=', match.user)
  if (match.keyId !== undefined) query = query.where('charge.key_id', '=', match.keyId)
  const rows: readonly Row[] = await query.execute()
  return rows.map(toUsageRow)
}

/** Of charges that are alone in their segments. */
async function sumAloneUse(db: Kysely<Tables>, match: UsageMatch): Promise<readonly UsageRow[]> {
  let query = db
    .selectFrom('segment')
    .leftJoin('log', 'log.id', 'segment.first_id')
    .leftJoin('reversal', 'reversal.charge_id', 'segment.first_id')
    .select(({ fn }) => [
      sql<number>`segment.at / ${sql.lit(dayMs)}`.as('day'),
      'segment.user_name',
      'segment.key_id',
      'segment.model',
      'segment.currency',
      fn.countAll<number>().as('requests'),
      fn.sum<number>('segment.amount').as('amount'),
      fn.sum<number>('log.input_tokens').as('input_tokens'),
      fn.sum<number>('log.output_tokens').as('output_tokens'),
      sql<number>`0`.as('images'),
      fn.sum<number>('reversal.amount').as('refunded'),
    ])
    .where('segment.amount', 'is not', null)
    .where('segment.last_id', '>=', firstIdAt('req_', match.since))
    .where('segment.last_id', '<', firstIdAt('req_', match.until))
    .groupBy(['day', 'segment.user_name', 'segment.key_id', 'segment.model', 'segment.currency'])
  if (match.user !== undefined) query = query.where('segment.user_name', '=', match.user)
  if (match.keyId !== undefined) query = query.where('segment.key_id', '=', match.keyId)
  const rows: readonly Row[] = await query.execute()
  return rows.map(toUsageRow)
}
