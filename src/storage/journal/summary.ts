import { firstIdAt } from '../../kit/ids.ts'
import type { Summary } from '../../kit/index.ts'
import { eachPage, readSums } from '../pages/find.ts'
import { placesIn } from '../pages/match.ts'
import { addKept, addRow, emptySums, failuresOf, type Sums } from '../pages/sums.ts'
import { findPages } from '../pages/walk.ts'
import { ask, type QueryProgram, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { eachBooking, hourMs, partsBeside, wholeSteps } from './summed.ts'

export type Span = { readonly since: number; readonly until: number; readonly user?: string }

export function* summarize(span: Span): QueryProgram<Summary> {
  const { durations, ...counts } = yield* sumLogs(span)
  const spent = yield* sumSpent(span)
  const images = yield* countImages(span)
  return { ...counts, p50Ms: quantile(durations, 0.5), p95Ms: quantile(durations, 0.95), spent, images }
}

/** Of everybody's rows most have been added up when their pages were bound. */
function* sumLogs(span: Span): QueryProgram<Sums> {
  const { since, until, user } = span
  const sums = emptySums()
  const kept = user === undefined ? yield* readSums(since, until - 1) : new Map<number, never>()
  const pages = (yield* findPages(span)).filter(({ number, firstMs, lastMs }) => {
    const known = kept.get(number)
    if (!known || firstMs < since || lastMs >= until) return true
    addKept(sums, known)
    return false
  })
  yield* eachPage(pages, page => {
    const failures = failuresOf(page)
    for (const at of placesIn(page, span)) addRow(sums, page, at, failures[page.whatOf(at)] === true)
    return undefined
  })
  return sums
}

function quantile(durations: Sums['durations'], share: number): number | null {
  const inOrder = [...durations].sort(([a], [b]) => a - b)
  const all = inOrder.reduce((sum, [, requests]) => sum + requests, 0)
  let passed = 0
  for (const [ms, requests] of inOrder) {
    passed += requests
    if (passed >= all * share) return ms
  }
  return null
}

/** What charges in rows come to, and those in segments: whole hours as far as they have been added up, the others one by one. */
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
  for (const part of partsBeside(hours, since, until))
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
