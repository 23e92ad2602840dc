import { type Journal, periodStartsAt, sumReviews } from '../../domain/index.ts'
import { formatMoney } from '../../util/index.ts'
import { overviewAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { ownerOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The start of each range, and the steps of its chart. A day begins at 0:00 UTC, as days of budgets do. */
const ranges = {
  today: (now: number) => ({ since: periodStartsAt(now, 'UTC').day, stepMs: hourMs }),
  '7d': (now: number) => ({ since: now - 7 * dayMs, stepMs: 6 * hourMs }),
  '30d': (now: number) => ({ since: now - 30 * dayMs, stepMs: dayMs }),
}

/** Whether any user ever requested a model. Lists of models do not count, because the console tests keys with them. */
async function hasRequests(journal: Journal, user: string | undefined): Promise<boolean> {
  for (const kind of ['call', 'refusal'] as const) {
    const newest = await journal.list({ limit: 1, kind, ...(user !== undefined && { user }) })
    if (newest.length > 0) return true
  }
  return false
}

export const overviewRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/overview',
    access: 'user',
    summary:
      "Get the requests, tokens, images and costs of a period. Users who can read everything get everyone's, others their own.",
    query: {
      type: 'object',
      additionalProperties: false,
      properties: { range: { type: 'string', enum: ['today', '7d', '30d'], default: 'today' } },
    },
    answer: overviewAnswer,
    async handle(request) {
      const { parts, query } = request
      const { journal } = parts.storage
      const user = ownerOf(request)
      const until = parts.clock.now() + 1
      const { since, stepMs } = ranges[query.range](until)
      const span = { since, until, ...(user !== undefined && { user }) }
      const [summary, steps, ever, open] = await Promise.all([
        journal.summary(span),
        journal.histogram({ ...span, lookups: false }, stepMs),
        hasRequests(journal, user),
        user === undefined ? parts.storage.books.open() : undefined,
      ])
      return {
        range: query.range,
        since: toMoment(since),
        until: toMoment(until),
        requests: summary.requests,
        errors: summary.errors,
        input_tokens: summary.inputTokens,
        output_tokens: summary.outputTokens,
        p50_ms: summary.p50Ms,
        p95_ms: summary.p95Ms,
        spent: summary.spent.map(({ currency, amount }) => ({ currency, amount: formatMoney(amount) })),
        images: summary.images,
        steps: steps.map(({ from, requests, errors }) => ({ from: toMoment(from), requests, errors })),
        ever,
        review: open ? sumReviews(open) : null,
      }
    },
  }),
]
