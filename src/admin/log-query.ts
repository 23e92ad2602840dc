import { cacheResults, type LogMatch, wantedResults } from '../domain/index.ts'
import type { Admits } from '../util/index.ts'
import { courseMembers, chargeItemMembers } from '../domain/charge.ts'
import { logMembers } from '../domain/shapes/log-row.ts'
import type { AdminRequest } from './api.ts'
import { fail } from './errors.ts'
import { moment, rowId, truth } from './schemas.ts'
import { ownerOf } from './session-user.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const

/** The query of log rows: all given fields must match. */
export const logQuery = {
  since: { ...moment, description: 'From this moment on.' },
  until: { ...moment, description: 'Before this moment.' },
  id: rowId,
  model: word,
  key: { ...rowId, description: "A key's id." },
  user: word,
  group: word,
  operation: word,
  upstream: word,
  status: { type: 'string', pattern: '^([1-5]\\d\\d|[2-5]xx)$', description: 'A status, or its class such as 4xx.' },
  cache: { type: 'string', enum: cacheResults, description: 'What the answer cache did.' },
  outcome: { ...logMembers.outcome.schema, description: 'How the gateway was done with it, whatever its status.' },
  result: {
    type: 'string',
    enum: wantedResults,
    description: 'How it ended for its caller, as the log shows it; unsuccessful: any but succeeded.',
  },
  tier: { ...word, description: 'One of its images was billed at this tier.' },
  source: {
    ...chargeItemMembers.source.schema,
    description: 'Where the tier of one of its images came from.',
  },
  unit: { ...word, description: 'What it was charged for is counted in this unit, such as input.' },
  refunded: { ...truth, description: 'true: something of its charge was given back; false: nothing was.' },
  other_size: { ...truth, description: 'true: an image came back in another size than requested.' },
  size: { ...word, description: 'The requested size of its images, as sent.' },
  end_user: { ...word, description: 'Whom it was for.' },
  tag: { ...word, description: 'One of its tags.' },
  charge: {
    ...courseMembers.state.schema,
    description: 'The state of its charge.',
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
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
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
