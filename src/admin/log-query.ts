import { cacheResults, type LogMatch, wantedResults } from '../domain/index.ts'
import type { Admits } from '../util/index.ts'
import { courseMembers, chargeItemMembers } from '../domain/charge.ts'
import { logMembers } from '../domain/shapes/log-row.ts'
import type { AdminRequest } from './api.ts'
import { fail } from './errors.ts'
import { moment, rowId, truth } from './schemas.ts'
import { readSpan } from './read-span.ts'
import { ownerOf } from './session-user.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const

/** The query of log rows: all given fields must match. */
export const logQuery = {
  since: { ...moment, description: 'Only requests at or after this time.' },
  until: { ...moment, description: 'Only requests before this time.' },
  id: rowId,
  model: word,
  key: { ...rowId, description: 'ID of the API key.' },
  user: word,
  group: word,
  operation: word,
  upstream: word,
  status: {
    type: 'string',
    pattern: '^([1-5]\\d\\d|[2-5]xx)$',
    description: 'HTTP status, or a class of statuses: 2xx, 3xx, 4xx or 5xx.',
  },
  cache: { type: 'string', enum: cacheResults, description: 'Result of the answer cache.' },
  outcome: {
    ...logMembers.outcome.schema,
    description: 'How the gateway ended the request, regardless of its status.',
  },
  result: {
    type: 'string',
    enum: wantedResults,
    description: 'Result for the client, as in the console. unsuccessful: every result except succeeded.',
  },
  tier: { ...word, description: 'Only requests with an image that was charged at this tier.' },
  source: {
    ...chargeItemMembers.source.schema,
    description: 'Only requests with an image whose tier has this source.',
  },
  unit: { ...word, description: 'Only requests that were charged for this unit, such as input.' },
  refunded: { ...truth, description: 'true: only requests with a refund. false: only requests without one.' },
  other_size: {
    ...truth,
    description: 'true: only requests with an image that has another size than requested. false: no filter.',
  },
  size: { ...word, description: 'Requested image size, as the client sent it.' },
  end_user: { ...word, description: 'Name of the end user.' },
  tag: { ...word, description: 'Tag of the request.' },
  charge: {
    ...courseMembers.state.schema,
    description: 'State of the charge.',
  },
} as const

const logQuerySchema = { type: 'object', additionalProperties: false, properties: logQuery } as const

export type LogQuery = Admits<typeof logQuerySchema>

/** The filter of a query, limited to the rows that the user may see. */
export function readLogMatch(query: LogQuery, request: AdminRequest): LogMatch {
  const { since, until, key, status, other_size: otherSize, user: wanted, end_user: endUser, tag, ...same } = query
  const owner = ownerOf(request)
  const user = owner ?? wanted
  // A user may not filter by another user.
  if (owner !== undefined && wanted !== undefined && wanted !== owner) throw fail('forbidden', {}, { param: 'user' })
  return {
    ...pick(same),
    ...readSpan({ since, until }),
    ...(key !== undefined && { keyId: key }),
    ...(user !== undefined && { user }),
    ...(status !== undefined && { status: /^\d+$/.test(status) ? Number(status) : (status as '4xx') }),
    ...(otherSize === true && { otherSize }),
    ...(endUser !== undefined && { endUser }),
    ...(tag !== undefined && { tag }),
  }
}

type Same = Pick<
  LogMatch,
  | 'id'
  | 'model'
  | 'group'
  | 'operation'
  | 'upstream'
  | 'outcome'
  | 'cache'
  | 'result'
  | 'tier'
  | 'source'
  | 'unit'
  | 'refunded'
  | 'size'
  | 'charge'
>

/** The given fields of a request, without those of its page and format. */
function pick({
  id,
  model,
  group,
  operation,
  upstream,
  outcome,
  cache,
  result,
  tier,
  source,
  unit,
  refunded,
  size,
  charge,
}: {
  readonly [Name in keyof Same]: Same[Name] | undefined
}): Same {
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(group !== undefined && { group }),
    ...(operation !== undefined && { operation }),
    ...(upstream !== undefined && { upstream }),
    ...(outcome !== undefined && { outcome }),
    ...(cache !== undefined && { cache }),
    ...(result !== undefined && { result }),
    ...(tier !== undefined && { tier }),
    ...(source !== undefined && { source }),
    ...(unit !== undefined && { unit }),
    ...(refunded !== undefined && { refunded }),
    ...(size !== undefined && { size }),
    ...(charge !== undefined && { charge }),
  }
}
