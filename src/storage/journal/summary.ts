import { firstIdAt } from '../../util/ids.ts'
import type { Summary } from '../../domain/index.ts'
import { eachLogBatch, readSums } from '../log-batches/find.ts'
import { placesIn } from '../log-batches/match.ts'
import { SpanSums } from '../log-batches/spans.ts'
import { addKept, addRow, emptySums, failuresOf } from '../log-batches/sums.ts'
import { findLogBatches } from '../log-batches/walk.ts'
import { ask, type QueryProgram, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { eachBooking, hourMs, partsOutside, wholeSteps } from './summed.ts'

export type Span = { readonly since: number; readonly until: number; readonly user?: string }

export function* summarize(span: Span): QueryProgram<Summary> {
  const counts = yield* sumLogs(span)
  const spent = yield* sumSpent(span)
  const images = yield* countImages(span)
  return { ...counts, spent, images }
}

/**
 * Sums the log. For all users, most rows were added up when their batches were compacted. Batches of versions that did
 * not mark lookups are read.
 */
function* sumLogs(span: Span): QueryProgram<Omit<Summary, 'spent' | 'images'>> {
  const { since, until, user } = span
  const sums = emptySums()
  const spans = new SpanSums()
  const kept = user === undefined ? yield* readSums(since, until - 1) : new Map<number, never>()
  const batches = (yield* findLogBatches(span)).filter(({ number, firstMs, lastMs }) => {
    const known = kept.get(number)
    if (!known?.spans || firstMs < since || lastMs >= until) return true
    addKept(sums, { ...known, spans: known.spans })
    spans.addKept(known.spans)
    return false
  })
  yield* eachLogBatch(batches, batch => {
    const failures = failuresOf(batch)
    const places = placesIn(batch, { ...span, lookups: false })
    for (const at of places) addRow(sums, batch, at, failures[batch.whatOf(at)] === true)
    spans.addRows(batch, places, failures)
    return undefined
  })
  return { ...sums, ...spans.quantiles() }
}

/** The sums of charges in rows and in charge batches: whole hours from the sums, the others one by one. */
function* sumSpent({ since, until, user }: Span): QueryProgram<Summary['spent']> {
  const hours = wholeSteps(since, until, hourMs)
  const own = user === undefined ? [] : [user]
  const sumOf = (where: string): string =>
    `SELECT currency, sum(amount) AS amount ${where} ${user === undefined ? '' : 'AND user_name = ?'} GROUP BY currency`
  const inRows = sumOf(`FROM charge WHERE state = 'settled' AND id >= ? AND id < ?`)
  const summed = sumOf('FROM spent_sum WHERE hour >= ? AND hour < ?')
  const rows: Rows = [
    ...(yield ask(inRows, firstIdAt('req_', since), firstIdAt('req_', until), ...own)),
    ...(yield ask(summed, hours.from, hours.to, ...own)),
  ]
  const sums = new Map<string, number>()
  const add = (currency: string, amount: number): void => void sums.set(currency, (sums.get(currency) ?? 0) + amount)
  for (const row of rows) add(text(row, 'currency'), whole(row, 'amount'))
  for (const part of partsOutside(hours, since, until))
    yield* eachBooking(part, some => {
      for (const { payer, terms, amount } of some)
        if (user === undefined || payer.user_name === user) add(terms.currency, amount)
      return undefined
    })
  return [...sums]
    .map(([currency, amount]) => ({ currency, amount }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1))
}

function* countImages({ since, until, user }: Span): QueryProgram<Summary['images']> {
  const ofUser = user === undefined ? '' : 'JOIN charge ON charge.id = line.charge_id AND charge.user_name = ?'
  const rows = yield ask(
    `SELECT line.tier, count(*) AS count FROM line ${ofUser} WHERE line.quantity IS NULL
     AND line.charge_id >= ? AND line.charge_id < ? GROUP BY line.tier ORDER BY line.tier`,
    ...(user === undefined ? [] : [user]),
    firstIdAt('req_', since),
    firstIdAt('req_', until),
  )
  return rows.map(row => ({ tier: text(row, 'tier'), count: whole(row, 'count') }))
}
