import type { TrailFilter, TrailRow } from '../../domain/index.ts'
import { auditedMembers } from '../../domain/shapes/key.ts'
import { type AnyMember, money } from '../../domain/shapes/member.ts'
import { userMembers } from '../../domain/shapes/user.ts'
import { auditAnswer, auditTotalsAnswer, refusedSignInsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { pageOf } from '../page-of.ts'
import { readSpan } from '../read-span.ts'
import { cursors, moment, pageLimit } from '../schemas.ts'
import { toMoment } from '../to-moment.ts'
import { namesOfTrail } from '../trail-names.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const
type Fields = TrailRow['before']

/** Fields of the audit log by their names in the API, with money and times in the usual formats. */
const auditedFields: { readonly [field: string]: { readonly name: string; readonly member: AnyMember } } = {
  ...auditedMembers,
  keysMax: { name: 'keys_max', member: userMembers.keysMax },
  keyBounds: { name: 'key_bounds', member: userMembers.keyBounds },
  refunded: { name: 'refunded', member: money('') },
  paidIn: { name: 'paid_in', member: money('') },
}

function show(values: Fields): Fields {
  if (values === null) return null
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => {
      const known = Object.hasOwn(auditedFields, field) ? auditedFields[field] : undefined
      // For an erased person, only the names of settings remain.
      if (known && value !== null) return [known.name, known.member.show(value as never)]
      return [known?.name ?? field, value]
    }),
  )
}

const filterQuery = {
  actor: word,
  subject: word,
  action: word,
  since: { ...moment, description: 'Only entries at or after this time.' },
  until: { ...moment, description: 'Only entries before this time.' },
} as const

type Filter = Omit<TrailFilter, 'limit' | 'before'>
type FilterQuery = { readonly [N in keyof typeof filterQuery]?: string | undefined }

function readFilter({ query }: AdminRequest<FilterQuery>): Filter {
  const { actor, subject, action, since, until } = query
  return {
    ...(actor !== undefined && { actor }),
    ...(subject !== undefined && { subject }),
    ...(action !== undefined && { action }),
    ...readSpan({ since, until }),
  }
}

export const auditRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/audit',
    access: 'readers',
    summary: 'List the audit log, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: { ...filterQuery, limit: pageLimit, before: cursors.trail },
    },
    answer: auditAnswer,
    async handle(request) {
      const { parts, query } = request
      const { limit, before } = query
      const filter = { ...readFilter(request), ...(before !== undefined && { before }) }
      const { rows, next } = await pageOf(
        limit,
        (row: TrailRow) => row.id,
        limit => parts.storage.trail.list({ ...filter, limit }),
      )
      const { key_names, nameOf } = await namesOfTrail(request, rows)
      return {
        rows: rows.map(row => ({
          ...row,
          at: toMoment(row.at),
          before: show(row.before),
          after: show(row.after),
          subject_name: nameOf(row),
        })),
        next,
        key_names,
      }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/audit/totals',
    access: 'readers',
    summary: 'Count the audit log entries of a filter, by action.',
    query: { type: 'object', additionalProperties: false, properties: filterQuery },
    answer: auditTotalsAnswer,
    async handle(request) {
      const actions = await request.parts.storage.trail.count(readFilter(request))
      return { rows: actions.reduce((sum, { rows }) => sum + rows, 0), actions }
    },
  }),
  defineRoute({
    method: 'GET',
    url: '/api/audit/sign-ins',
    access: 'operators',
    summary: 'List refused sign-ins by hour, name and address, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        limit: pageLimit,
        since: filterQuery.since,
        until: filterQuery.until,
        name: { ...word, description: 'Name of the user in the sign-in.' },
        remote: { ...word, description: 'Client address.' },
      },
    },
    answer: refusedSignInsAnswer,
    async handle({ parts, query }) {
      const { limit, since, until, name, remote } = query
      const { rows, ...counts } = await parts.storage.watch.listRefused({
        limit,
        ...readSpan({ since, until }),
        ...(name !== undefined && { name }),
        ...(remote !== undefined && { remote }),
      })
      return {
        ...counts,
        rows: rows.map(({ hour, firstAt, lastAt, ...row }) => ({
          ...row,
          hour: toMoment(hour),
          first: toMoment(firstAt),
          last: toMoment(lastAt),
        })),
      }
    },
  }),
]
