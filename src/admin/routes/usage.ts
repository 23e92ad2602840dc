import { usageView } from '../../domain/shapes/usage-row.ts'
import { usageAnswer } from '../response-schemas.ts'
import { defineRoute, Reply } from '../api.ts'
import { csvRow } from '../export.ts'
import { fail } from '../errors.ts'
import { readSpan } from '../read-span.ts'
import { moment, rowId } from '../schemas.ts'
import { ownerOf } from '../session-user.ts'

const dayMs = 86_400_000
const spanMs = 30 * dayMs

export const usageRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/usage',
    access: 'user',
    summary: 'Get usage and charges by day, API key and model. The default is the last 30 days.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        since: moment,
        until: moment,
        user: { type: 'string', minLength: 1, maxLength: 200 },
        key: rowId,
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
    },
    answer: usageAnswer,
    async handle(request) {
      const { query, parts } = request
      const owner = ownerOf(request)
      if (owner !== undefined && query.user !== undefined && query.user !== owner)
        throw fail('forbidden', {}, { param: 'user' })
      const user = owner ?? query.user
      const { until = parts.clock.now() + 1, since = until - spanMs } = readSpan(query)
      const found = await parts.storage.journal.usage({
        since,
        until,
        ...(user !== undefined && { user }),
        ...(query.key !== undefined && { keyId: query.key }),
      })
      const rows = found.map(usageView.show)
      if (query.format === 'json') return { rows }
      const table = [usageView.names, ...rows.map(row => Object.values(row))].map(csvRow).join('')
      return new Reply(
        200,
        {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': 'attachment; filename="tollgate-usage.csv"',
        },
        `\uFEFF${table}`,
      )
    },
  }),
]
