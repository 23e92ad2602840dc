import { formatMoney, type TrailRow } from '../../kit/index.ts'
import { defineRoute } from '../api.ts'
import { pageOf, toMoment } from '../answers.ts'
import { moment, pageLimit, rowId, text, textOrNull } from '../schemas.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const
const fields = { type: ['object', 'null'] } as const

type Fields = TrailRow['before']

const money = (value: unknown): unknown => (typeof value === 'number' ? formatMoney(value) : value)
const time = (value: unknown): unknown => (typeof value === 'number' ? toMoment(value) : value)

/** Fields of the trail by the API's names, money and moments as everywhere else. */
const shown: { readonly [field: string]: { readonly name: string; readonly write?: (value: unknown) => unknown } } = {
  budget: { name: 'budget', write: money },
  refunded: { name: 'refunded', write: money },
  expiresAt: { name: 'expires', write: time },
  old_secret_until: { name: 'old_secret_until', write: time },
  budgetPeriod: { name: 'budget_period' },
}

function show(values: Fields): Fields {
  if (values === null) return null
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => {
      const { name, write } = (Object.hasOwn(shown, field) ? shown[field] : undefined) ?? { name: field }
      return [name, write ? write(value) : value]
    }),
  )
}

export const auditRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/audit',
    access: 'admin',
    summary: 'Who changed what, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: { limit: pageLimit, before: rowId, actor: word, subject: word, action: word },
    },
    answer: {
      type: 'object',
      additionalProperties: false,
      required: ['rows', 'next'],
      properties: {
        rows: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            properties: {
              id: text,
              at: moment,
              actor: text,
              action: text,
              subject: text,
              before: fields,
              after: fields,
              reason: textOrNull,
            },
          },
        },
        next: textOrNull,
      },
    },
    async handle({ parts, query }) {
      const { limit, before, actor, subject, action } = query
      const filter = {
        ...(before !== undefined && { before }),
        ...(actor !== undefined && { actor }),
        ...(subject !== undefined && { subject }),
        ...(action !== undefined && { action }),
      }
      const { rows, next } = await pageOf(
        limit,
        (row: TrailRow) => row.id,
        limit => parts.storage.trail.list({ ...filter, limit }),
      )
      return {
        rows: rows.map(row => ({ ...row, at: toMoment(row.at), before: show(row.before), after: show(row.after) })),
        next,
      }
    },
  }),
]
