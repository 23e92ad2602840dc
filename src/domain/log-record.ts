import { formatMoney } from '../util/units.ts'
import { cacheResults } from './answer-cache.ts'
import { billingRecord, billView } from './billing-record.ts'
import type { LoggedRequest } from './journal.ts'
import type { KnownPlugin } from './plugin-facts.ts'
import { logMembers, type Marks, markMembers } from './shapes/log-row.ts'
import * as schemas from './shapes/schemas.ts'
import { computed, shownOf, viewOf } from './shapes/view.ts'

type Found = LoggedRequest & { readonly known: readonly KnownPlugin[] }

const own = shownOf(logMembers, ({ row }: Pick<Found, 'row'>) => row)
const usage = {
  type: 'object',
  additionalProperties: false,
  required: ['input_tokens', 'output_tokens'],
  properties: { input_tokens: schemas.wholeOrNull, output_tokens: schemas.wholeOrNull },
} as const

const mark = shownOf(markMembers, (marks: Marks) => marks)
const marksView = viewOf<Marks>()({
  received_ms: mark('received', 'The request body was received.'),
  asked_ms: mark('asked', 'All limits admitted the request, its hold was made, and the upstream was called.'),
  asked_again_ms: mark('askedAgain', 'Last call of an upstream. Null if there was only one call.'),
  first_byte_ms: mark('firstByte', 'The first byte of the response was received from the upstream.'),
  last_byte_ms: mark('lastByte', 'The response was complete.'),
  committed_ms: mark('committed', 'The charge was stored.'),
})
const marksOrNull = {
  ...marksView.schema,
  type: ['object', 'null'],
  description:
    'Times of the phases in milliseconds after the start of the request. A phase that was not reached is null. Null for requests that an earlier version logged.',
} as const

const valuesOrNull = {
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description:
    'Values of the error by name, such as the limit, its amount and the seconds to wait. Null without an error.',
} as const
const upstreamMessage = {
  ...schemas.textOrNull,
  description: 'Message of the refusal by the upstream, shortened, without keys and long quotations. Null without one.',
} as const

const attemptsOrNull = {
  type: ['array', 'null'],
  description:
    'Requests to upstreams in order: retries, other keys, other upstreams and fallbacks. Null if there was only one, to the model itself.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['upstream', 'key', 'answer', 'ms'],
    properties: {
      upstream: { type: 'string' },
      key: schemas.textOrNull,
      model: { type: 'string', description: 'Fallback model that was called. Absent for the requested model.' },
      answer: { type: 'string', description: 'HTTP status, or the error code if there was no response.' },
      ms: { type: 'number', description: 'Milliseconds from sending the request to the response headers.' },
    },
  },
} as const
const cache = {
  type: ['string', 'null'],
  enum: [...cacheResults, null],
  description:
    'Result of the answer cache. hit: the response came from the cache. miss: it came from the upstream and may be cached. bypass: it may not be cached. Null for models without `cache`.',
} as const
const saved = {
  ...schemas.textOrNull,
  description:
    'Amount saved by a hit of the answer cache: the original cost of the response, less the price of the hit. A decimal. Null without a hit.',
} as const
const endUser = {
  ...schemas.textOrNull,
  description: 'Name of the end user, from the plugin `attribution`. Null for none.',
} as const
const alias = {
  ...schemas.textOrNull,
  description: "Name that the client used for the model, if it is an alias of the key's group. Null otherwise.",
} as const
const tags = {
  ...schemas.texts,
  description: 'Tags and metadata of the request, from the plugin `attribution`. Empty for none.',
} as const

/** The schema of a charge, or null. */
export const billOrNull = { ...billView.schema, type: ['object', 'null'] } as const
const useBill = {
  ...billOrNull,
  description:
    'Charge for the tokens and other usage of a request whose images have a charge of their own. Its ID is the ID of the request with `.u`. Null otherwise.',
} as const

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
  use_billing: computed(useBill, ({ use, known }: Found) => (use ? billingRecord(use, known) : null)),
})

export type LogRecord = ReturnType<typeof logView.show>

/** Combines a row of the log and its charges into one record. `known`: the plugins that may have made the charges. */
export function logRecord(found: LoggedRequest, known: readonly KnownPlugin[]): LogRecord {
  return logView.show({ ...found, known })
}
