import {
  type Charge,
  type Failure,
  type LoggedRequest,
  type LogMatch,
  logRecord,
  type PartialRefund,
} from '../../domain/index.ts'
import { requestOfCharge } from '../../plugin-api/index.ts'
import { formatMoney, parseMoney } from '../../util/index.ts'
import { histogramAnswer, logDetailAnswer, logsAnswer, logTotalsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute, Reply } from '../api.ts'
import { may } from '../duties.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { exportLines, exportTable } from '../export.ts'
import { type LogQuery, logQuery, readLogMatch } from '../log-query.ts'
import { pageOf } from '../page-of.ts'
import { cursors, decimal, pageLimit, reason } from '../schemas.ts'
import { Semaphore } from '../semaphore.ts'
import { Tails } from '../tail.ts'
import { namesOfKeys } from '../key-names.ts'
import { ownerOf, sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Steps of a histogram. It uses the shortest one with which the range does not exceed the maximum number of steps. */
const stepLengths = [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs, dayMs, 7 * dayMs, 30 * dayMs]
const stepsMax = 120

const exportsAtOnce = { all: 8, each: 2 }

const filterOnly = { type: 'object', additionalProperties: false, properties: logQuery } as const

/** A row that the user may see; other users' rows count as missing. @throws Failure not_found */
async function findRow(request: AdminRequest): Promise<LoggedRequest & { readonly chargeId: string }> {
  const user = ownerOf(request)
  const chargeId = request.params['id'] ?? ''
  const id = requestOfCharge(chargeId)
  const [found] = await request.parts.storage.journal.list({ id, limit: 1, ...(user !== undefined && { user }) })
  if (!found || (chargeId !== id && !found.use)) throw fail('not_found')
  return { ...found, chargeId }
}

/** A record with the explanation of its charge, which is the same for the client and the command line. */
async function showDetail(request: AdminRequest, found: LoggedRequest) {
  const { row, charge, use } = found
  const { parts } = request
  const [refunds, useRefunds] = await Promise.all([showRefunds(request, charge), showRefunds(request, use)])
  const record = logRecord(found, parts.plan().plugins.known)
  const ended = toMoment(row.time + row.durationMs)
  return {
    ...record,
    key_name: row.keyId === null ? null : ((await namesOfKeys(request, [row.keyId])).key_names[row.keyId] ?? null),
    user_agent: null,
    explanation: record.billing,
    refund: refunds.at(-1) ?? null,
    refunds,
    use_refunds: useRefunds,
    timing: { began: record.time, ended, duration_ms: row.durationMs },
  }
}

async function showRefunds({ parts }: AdminRequest, charge: Charge | null | undefined) {
  const refunds = charge && charge.refunded > 0 ? await parts.storage.books.refundsOf(charge.id) : []
  return refunds.map(refund => ({ ...refund, amount: formatMoney(refund.amount), at: toMoment(refund.at) }))
}

/** Changes one charge, and returns its new record. */
async function decide(
  request: AdminRequest,
  change: (id: string, by: string) => Promise<boolean>,
  whyNot: (id: string) => Promise<Failure>,
) {
  const { row, chargeId } = await findRow(request)
  const found = sessionUserOf(request)
  const { user } = found
  const person = 'token' in found ? found.token.by : user.name
  // Billing users may not refund their own charges, and neither may their tokens.
  if (!may(user, 'admin') && row.user === person) throw fail('own_charge')
  if (!(await change(chargeId, user.name))) throw await whyNot(chargeId)
  return showDetail(request, await findRow(request))
}

const list = defineRoute({
  method: 'GET',
  url: '/api/logs',
  access: 'user',
  summary: "List requests, newest first. Users who can read everything get everyone's, others their own.",
  query: { ...filterOnly, properties: { ...logQuery, limit: pageLimit, before: cursors.logs } },
  answer: logsAnswer,
  async handle(request) {
    const { limit, before, ...filter } = request.query
    const match = readLogMatch(filter, request)
    const { rows, next } = await pageOf(
      limit,
      ({ row }: LoggedRequest) => row.id,
      limit => request.parts.storage.journal.list({ ...match, limit, ...(before !== undefined && { before }) }),
    )
    const { known } = request.parts.plan().plugins
    const keys = rows.map(({ row }) => row.keyId)
    return {
      records: rows.map(found => logRecord(found, known)),
      next,
      ...(await namesOfKeys(request, keys)),
    }
  },
})

/** The filter of counted rows: lookups count only if the filter includes them. */
function countedOf(query: LogQuery, request: AdminRequest): LogMatch {
  const match = readLogMatch(query, request)
  return match.operation === undefined && match.id === undefined ? { ...match, lookups: false } : match
}

const histogram = defineRoute({
  method: 'GET',
  url: '/api/logs/histogram',
  access: 'user',
  summary: 'Count requests per time step. The default is the last 24 hours.',
  query: filterOnly,
  answer: histogramAnswer,
  async handle(request) {
    const match = countedOf(request.query, request)
    const until = match.until ?? request.parts.clock.now() + 1
    const since = match.since ?? until - dayMs
    const stepMs = stepLengths.find(length => (until - since) / length <= stepsMax) ?? 30 * dayMs
    const steps = await request.parts.storage.journal.histogram({ ...match, since, until }, stepMs)
    return {
      step_ms: stepMs,
      since: toMoment(since),
      until: toMoment(until),
      steps: steps.map(({ from, requests, errors }) => ({ from: toMoment(from), requests, errors })),
    }
  },
})

const totals = defineRoute({
  method: 'GET',
  url: '/api/logs/totals',
  access: 'user',
  summary:
    'Get the number and the charges of the matching requests. Very large results return the newest part first, and where to continue.',
  query: { ...filterOnly, properties: { ...logQuery, before: cursors.logs } },
  answer: logTotalsAnswer,
  async handle(request) {
    const { before, ...filter } = request.query
    const match = countedOf(filter, request)
    const { sums, since, ...counts } = await request.parts.storage.journal.totals({
      ...match,
      ...(before !== undefined && { before }),
    })
    return {
      ...counts,
      sums: sums.map(({ currency, amount, refunded }) => ({
        currency,
        amount: formatMoney(amount),
        refunded: formatMoney(refunded),
        net: formatMoney(amount - refunded),
      })),
      since: since === null ? null : toMoment(since),
    }
  },
})

const tailOf = (tails: Tails) =>
  defineRoute({
    method: 'GET',
    url: '/api/logs/tail',
    access: 'user',
    summary: 'Stream requests as they end, as server-sent events named `log`.',
    query: filterOnly,
    contentType: 'text/event-stream',
    handle(request) {
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
      return new Reply(200, headers, tails.follow(request, readLogMatch(request.query, request)))
    },
  })

const exportBy = (exports: Semaphore) =>
  defineRoute({
    method: 'GET',
    url: '/api/logs/export',
    access: 'user',
    summary: 'Export requests as a file, newest first: CSV, or one JSON record per line.',
    query: {
      ...filterOnly,
      properties: { ...logQuery, format: { type: 'string', enum: ['csv', 'jsonl'], default: 'csv' } },
    },
    contentType: 'text/csv',
    handle(request) {
      const { format, ...filter } = request.query
      const match = readLogMatch(filter, request)
      exports.take(request)
      const type = format === 'csv' ? 'text/csv' : 'application/x-ndjson'
      const headers = {
        'content-type': `${type}; charset=utf-8`,
        'content-disposition': `attachment; filename="tollgate-logs.${format}"`,
      }
      return new Reply(200, headers, format === 'csv' ? exportTable(request, match) : exportLines(request, match))
    },
  })

const one = defineRoute({
  method: 'GET',
  url: '/api/logs/:id',
  access: 'user',
  summary: 'Get a request and the explanation of its charge.',
  answer: logDetailAnswer,
  handle: async request => showDetail(request, await findRow(request)),
})

const refund = defineRoute({
  method: 'POST',
  url: '/api/logs/:id/refund',
  access: 'money',
  summary: 'Refund a settled charge. The ID is that of the request, or its ID with `.u` for `use_billing`.',
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['reason'],
    properties: {
      amount: {
        type: 'string',
        pattern: decimal,
        description: 'Amount to refund. The default is the charge less earlier refunds.',
      },
      refunded: {
        type: 'string',
        pattern: decimal,
        description:
          'Expected total of earlier refunds of the charge. If it differs, the response is a 409 and nothing is refunded. Send it so that a repeated request does not refund twice.',
      },
      reason,
    },
  },
  answer: logDetailAnswer,
  handle(request) {
    const { amount, refunded, reason: why } = request.body
    const part: PartialRefund = { ...moneyIn('amount', amount), ...moneyIn('refunded', refunded) }
    if (part.amount === 0) throw refuse('invalid', 'amount', {}, { param: 'amount' })
    const { books, ledger } = request.parts.storage
    return decide(
      request,
      async (id, by) => (await books.refund(id, by, why, part)) > 0,
      async id => refusedRefund(await ledger.find(id), part),
    )
  },
})

function moneyIn(name: keyof PartialRefund, amount: unknown): PartialRefund {
  const micros = typeof amount === 'string' ? parseMoney(amount) : undefined
  return micros === undefined ? {} : { [name]: micros }
}

/** The reason why a charge, in its current state, was not refunded. */
function refusedRefund(charge: Charge | undefined, { amount, refunded }: PartialRefund): Failure {
  if (charge?.state !== 'settled' || charge.amount <= charge.refunded) return refuse('conflict', 'refunded', {})
  const back = formatMoney(charge.refunded)
  if (refunded !== undefined && refunded !== charge.refunded)
    return refuse('conflict', 'refund_since', { refunded: back })
  const left = charge.amount - charge.refunded
  if (amount !== undefined && amount > left)
    return refuse('conflict', 'refund_left', { left: formatMoney(left) }, { param: 'amount' })
  // Another refund was made in the meantime.
  return refuse('conflict', 'refund_since', { refunded: back })
}

const resolve = defineRoute({
  method: 'POST',
  url: '/api/logs/:id/resolve',
  access: 'money',
  summary: 'Resolve a charge that needs review. The ID is as for a refund.',
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['as', 'reason'],
    properties: {
      as: { type: 'string', enum: ['settle', 'void'] },
      amount: {
        type: 'string',
        pattern: decimal,
        description: 'Amount of the settled charge, at most its hold. The default is 0. Ignored for void.',
      },
      reason,
    },
  },
  answer: logDetailAnswer,
  handle: request =>
    decide(
      request,
      (id, by) => {
        const { as, amount, reason } = request.body
        const micros = as === 'settle' && typeof amount === 'string' ? parseMoney(amount) : 0
        return request.parts.storage.books.resolve(id, as, by, reason, micros)
      },
      async () => refuse('conflict', 'resolved', {}),
    ),
})

/** One instance for each gateway, which limits the clients that follow or export the log. */
export function logRoutes() {
  return [list, histogram, totals, tailOf(new Tails()), exportBy(new Semaphore(exportsAtOnce)), one, refund, resolve]
}
