import { formatMoney } from '../util/units.ts'
import { cacheResults } from './answer-cache.ts'
import { billingRecord, billView } from './billing-record.ts'
import type { Charge } from './charge.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import { logMembers, type LogRow, type Marks, markMembers } from './shapes/log-row.ts'
import * as schemas from './shapes/schemas.ts'
import { computed, shownOf, viewOf } from './shapes/view.ts'

type Found = { readonly row: LogRow; readonly charge: Charge | null; readonly known: readonly KnownPlugin[] }

const own = shownOf(logMembers, ({ row }: Pick<Found, 'row'>) => row)
const usage = {
  type: 'object',
  additionalProperties: false,
  required: ['input_tokens', 'output_tokens'],
  properties: { input_tokens: schemas.wholeOrNull, output_tokens: schemas.wholeOrNull },
} as const

const mark = shownOf(markMembers, (marks: Marks) => marks)
const marksView = viewOf<Marks>()({
  received_ms: mark('received', 'Its body was here.'),
  asked_ms: mark('asked', 'Limits had room and its money was held: the upstream was called.'),
  asked_again_ms: mark('askedAgain', 'The last call, of this or another upstream, if there was more than one.'),
  first_byte_ms: mark('firstByte', "The first byte of the upstream's answer was here."),
  last_byte_ms: mark('lastByte', 'The answer had come whole.'),
  committed_ms: mark('committed', 'What it costs was durable.'),
})
const marksOrNull = {
  ...marksView.schema,
  type: ['object', 'null'],
  description: 'How far it had come, milliseconds after it began; null where an earlier version logged it.',
} as const

const valuesOrNull = {
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description: 'What the error says, as data by name: which limit, how much of what, for how many seconds.',
} as const
const upstreamMessage = {
  ...schemas.textOrNull,
  description: 'What its upstream said when it refused: clipped, without keys and without what it quotes at length.',
} as const

const attemptsOrNull = {
  type: ['array', 'null'],
  description:
    'Its requests to upstreams in their order, if there was more than one or a fallback was called: retries, other keys, other upstreams.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['upstream', 'key', 'answer', 'ms'],
    properties: {
      upstream: { type: 'string' },
      key: schemas.textOrNull,
      model: { type: 'string', description: 'The fallback that was called; absent for the model itself.' },
      answer: { type: 'string', description: 'The status, or the code of the error without a response.' },
      ms: { type: 'number', description: 'From sending to the response headers.' },
    },
  },
} as const
const cache = {
  type: ['string', 'null'],
  enum: [...cacheResults, null],
  description: 'What the answer cache did: hit, miss, or bypass; null for models without `cache`.',
} as const
const saved = {
  ...schemas.textOrNull,
  description:
    'What a hit of the answer cache has not cost: the first cost of the response, less the price of the hit.',
} as const
const endUser = { ...schemas.textOrNull, description: 'Whom the request was for, by `attribution`.' } as const
const alias = {
  ...schemas.textOrNull,
  description: "The name that the client used for the model, if it is an alias of the key's group.",
} as const
const tags = { ...schemas.texts, description: 'Tags and metadata of the request, by `attribution`.' } as const

/** The schema of a charge, or null. */
export const billOrNull = { ...billView.schema, type: ['object', 'null'] } as const

/** One record of the request log. Programs read it: its members are not renamed. */
export const logView = viewOf<Found>()({
  id: own('id'),
  time: own('time'),
  key_id: own('keyId'),
  user: own('user'),
  group: own('group'),
  model: own('model'),
  operation: own('operation'),
  status: own('status'),
  outcome: own('outcome'),
  error: own('errorCode'),
  duration_ms: own('durationMs'),
  upstream: own('upstream'),
  config_revision: own('configRevision'),
  forwarded: own('forwarded'),
  dropped: own('dropped'),
  client_request_id: own('clientRequestId'),
  billing: computed(billOrNull, ({ charge, known }: Found) => charge && billingRecord(charge, known)),
  usage: computed(usage, ({ row }: Pick<Found, 'row'>) => ({
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
  })),
  marks: computed(marksOrNull, ({ row }: Pick<Found, 'row'>) => row.marks && marksView.show(row.marks)),
  error_values: computed(valuesOrNull, ({ row }: Pick<Found, 'row'>) => row.errorValues),
  upstream_said: computed(upstreamMessage, ({ row }: Pick<Found, 'row'>) => row.upstreamSaid),
  attempts: computed(attemptsOrNull, ({ row }: Pick<Found, 'row'>) => row.attempts),
  end_user: computed(endUser, ({ row }: Pick<Found, 'row'>) => row.endUser ?? null),
  tags: computed(tags, ({ row }: Pick<Found, 'row'>) => row.tags ?? []),
  cache: computed(cache, ({ row }: Pick<Found, 'row'>) => row.cache ?? null),
  saved: computed(saved, ({ row }: Pick<Found, 'row'>) => (row.saved == null ? null : formatMoney(row.saved))),
  alias: computed(alias, ({ row }: Pick<Found, 'row'>) => row.alias ?? null),
})

export type LogRecord = ReturnType<typeof logView.show>

/**
 * Combines a row of the log and its charge, if any, into one record. `known`: the plugins that may have made the
 * charge.
 */
export function logRecord(row: LogRow, charge: Charge | null, known: readonly KnownPlugin[]): LogRecord {
  return logView.show({ row, charge, known })
}
