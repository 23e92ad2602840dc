import { formatMoney, type UsageRow } from '../../kit/index.ts'
import { defineRoute, Reply } from '../api.ts'
import { csvLine } from '../export.ts'
import { fail } from '../errors.ts'
import { moment, rowId, text, whole } from '../schemas.ts'
import { ownerOf } from '../session-user.ts'

const dayMs = 86_400_000
const spanMs = 30 * dayMs

function usageRecord({
  day,
  user,
  keyId,
  model,
  requests,
  images,
  inputTokens,
  outputTokens,
  currency,
  amount,
  refunded,
}: UsageRow) {
  return {
    day,
    user,
    key_id: keyId,
    model,
    requests,
    images,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    currency,
    amount: formatMoney(amount),
    refunded: formatMoney(refunded),
  }
}

const rowAnswer = {
  type: 'object',
  additionalProperties: false,
  properties: {
    day: { ...text, description: 'Of UTC, as in 2026-11-21.' },
    user: text,
    key_id: text,
    model: text,
    requests: whole,
    images: whole,
    input_tokens: whole,
    output_tokens: whole,
    currency: text,
    amount: text,
    refunded: text,
  },
} as const

export const usageRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/usage',
    access: 'user',
    summary: 'What was used and charged, by day, key and model; of the last 30 days by default.',
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
    answer: {
      type: 'object',
      additionalProperties: false,
      required: ['rows'],
      properties: { rows: { type: 'array', items: rowAnswer } },
    },
    async handle(ask) {
      const { query, parts } = ask
      const owner = ownerOf(ask)
      if (owner !== undefined && query.user !== undefined && query.user !== owner)
        throw fail('forbidden', {}, { param: 'user' })
      const user = owner ?? query.user
      const until = query.until === undefined ? parts.clock.now() + 1 : Date.parse(query.until)
      const found = await parts.storage.journal.usage({
        since: query.since === undefined ? until - spanMs : Date.parse(query.since),
        until,
        ...(user !== undefined && { user }),
        ...(query.key !== undefined && { keyId: query.key }),
      })
      const rows = found.map(usageRecord)
      if (query.format === 'json') return { rows }
      const table = [Object.keys(rowAnswer.properties), ...rows.map(row => Object.values(row))].map(csvLine).join('')
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
