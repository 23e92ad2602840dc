import type { LatencyRow } from '../../domain/index.ts'
import { latencyAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { readSpan } from '../read-span.ts'
import { refuse } from '../reasons.ts'
import { moment } from '../schemas.ts'
import { ownerOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const dayMs = 86_400_000
const daysMax = 400

export function showLatency({ kind, model, operation, requests, errors, ...ms }: LatencyRow) {
  return {
    kind,
    model,
    operation,
    requests,
    errors,
    p50_ms: ms.p50Ms,
    p95_ms: ms.p95Ms,
    first_byte_p50_ms: ms.firstByteP50Ms,
    first_byte_p95_ms: ms.firstByteP95Ms,
  }
}

export const latencyRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/latency',
    access: 'user',
    summary:
      "Get the latency of requests by model and operation, accurate to within 10%, with refusals and lookups separate. Users who can read everything get everyone's, others their own.",
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        since: { ...moment, description: 'Only requests at or after this time. The default is 24 hours ago.' },
        until: { ...moment, description: 'Only requests before this time. The default is now.' },
      },
    },
    answer: latencyAnswer,
    async handle(request) {
      const { parts, query } = request
      const user = ownerOf(request)
      const { until = parts.clock.now() + 1, since = until - dayMs } = readSpan(query)
      if (until - since > daysMax * dayMs) throw refuse('invalid', 'range', { days: daysMax }, { param: 'since' })
      const rows = await parts.storage.journal.latency({ since, until, ...(user !== undefined && { user }) })
      return {
        since: toMoment(since),
        until: toMoment(until),
        rows: rows.map(showLatency),
      }
    },
  }),
]
