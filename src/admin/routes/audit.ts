import type { TrailRow } from '../../kit/index.ts'
import { toldMembers } from '../../kit/shapes/key.ts'
import { type AnyMember, money } from '../../kit/shapes/member.ts'
import { userMembers } from '../../kit/shapes/user.ts'
import { auditAnswer } from '../answers.ts'
import { defineRoute } from '../api.ts'
import { pageOf } from '../page-of.ts'
import { pageLimit, rowId } from '../schemas.ts'
import { toMoment } from '../to-moment.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const
type Fields = TrailRow['before']

/** Fields of the trail by the names that the interface has for them, money and moments as everywhere else. */
const told: { readonly [field: string]: { readonly name: string; readonly member: AnyMember } } = {
  ...toldMembers,
  keysMax: { name: 'keys_max', member: userMembers.keysMax },
  keyBounds: { name: 'key_bounds', member: userMembers.keyBounds },
  refunded: { name: 'refunded', member: money('') },
  paidIn: { name: 'paid_in', member: money('') },
}

function show(values: Fields): Fields {
  if (values === null) return null
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => {
      const known = Object.hasOwn(told, field) ? told[field] : undefined
      return known ? [known.name, known.member.show(value as never)] : [field, value]
    }),
  )
}

export const auditRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/audit',
    access: 'readers',
    summary: 'Who changed what, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: { limit: pageLimit, before: rowId, actor: word, subject: word, action: word },
    },
    answer: auditAnswer,
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
