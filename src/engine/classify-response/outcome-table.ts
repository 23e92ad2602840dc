import { invalidKeySentences, noCreditSentences, type OutcomeRow } from '../../domain/index.ts'

/**
 * The meaning of refusals, for all vendors: the first matching row applies. What matches none goes to the client. Only
 * the status and machine-readable words count against a key, because a client may have caused the message. One
 * exception: the sentence of a vendor without a code for it counts if it is the whole message. In favour of a key the
 * message and its numbers count: a client that causes them only spares the key one refusal. Rows with `confirm` need a
 * second request (`key-states.ts`).
 */
export const outcomes: readonly OutcomeRow[] = [
  // The vendor's numbers show that the key is valid, and this request too large for it.
  {
    status: [400, 402, 403, 429],
    mentions: ['can only afford {left}'],
    where: 'left > 0',
    class: 'not_sold',
    key: 'request',
  },
  {
    status: [402, 403, 429],
    mentions: [
      'limit {limit}, requested {wanted}',
      'limit: {limit}, requested: {wanted}',
      'limit {limit}, used {used}, requested {wanted}',
      'limit: {limit}, used: {used}, requested: {wanted}',
      'limit exceeded: {wanted} > {limit}',
    ],
    where: 'wanted > limit',
    class: 'not_sold',
    key: 'request',
  },
  // Its words show it if it gives no numbers.
  {
    status: [402, 403, 429],
    mentions: [
      'request too large',
      'is too long: {found} tokens',
      'tokens must be reduced',
      'reduce your message size',
    ],
    class: 'not_sold',
    key: 'request',
  },
  {
    status: [402, 403, 429],
    codes: ['request_too_large', 'context_length_exceeded'],
    class: 'not_sold',
    key: 'request',
  },
  // Too much in flight, or a budget that renews: it reports how long to wait.
  { status: [402, 403], when: 'wait', class: 'not_sold', key: 'cooling' },
  {
    status: [400, 401, 403],
    codes: [
      'invalid_api_key',
      'API_KEY_INVALID',
      'INVALID_API_KEY',
      'InvalidApiKey',
      'API_KEY_EXPIRED',
      'API_KEY_SERVICE_BLOCKED',
      'API_KEY_IP_ADDRESS_BLOCKED',
      'API_KEY_HTTP_REFERRER_BLOCKED',
      'CONSUMER_INVALID',
      'CONSUMER_SUSPENDED',
      'ACCOUNT_STATE_INVALID',
      'ACCESS_TOKEN_EXPIRED',
      'authentication_error',
      'invalid_authentication',
      'invalid_authentication_error',
      'account_deactivated',
      'account_disabled',
      'organization_deactivated',
      'organization_disabled',
      'key_revoked',
      'api_key_revoked',
      'InvalidClientTokenId',
      'UnrecognizedClientException',
      'ExpiredTokenException',
    ],
    class: 'not_sold',
    key: 'invalid',
  },
  {
    status: [400, 402, 403, 429],
    codes: [
      'insufficient_quota',
      'credit_balance_exhausted',
      'credit_balance_too_low',
      'billing_error',
      'billing_not_active',
      'billing_hard_limit_reached',
      'enforced_spend_limit_reached',
      'exceeded_current_quota_error',
      'spend_limit_exceeded',
      'BILLING_DISABLED',
      'Arrearage',
      'AccountOverdueError',
    ],
    class: 'not_sold',
    key: 'no_credit',
  },
  // The remaining credit may be enough for a smaller request.
  {
    status: [400, 402, 403, 429],
    codes: [
      'insufficient_credits',
      'insufficient_balance',
      'insufficient_funds',
      'InsufficientBalance',
      'BILLING_BALANCE_NOT_ENOUGH',
    ],
    class: 'not_sold',
    key: 'no_credit',
    confirm: true,
  },
  { status: [400], says: invalidKeySentences, class: 'not_sold', key: 'invalid' },
  { status: [400], says: noCreditSentences, class: 'not_sold', key: 'no_credit' },
  // A budget of the key or its owner is spent; the same status without the word is about the request.
  {
    status: [403],
    at: 'error.metadata.limit_source',
    when: 'code',
    class: 'not_sold',
    key: 'no_credit',
    confirm: true,
  },
  { status: [401], class: 'not_sold', key: 'invalid' },
  { status: [402], class: 'not_sold', key: 'no_credit', confirm: true },
  // A client's body may cause these too: they count for the key only if another one is served.
  {
    status: [403, 404],
    codes: [
      'model_not_found',
      'model_not_allowed',
      'model_not_available',
      'not_found_error',
      'NOT_FOUND',
      'permission_error',
      'permission_denied',
      'PERMISSION_DENIED',
      'AccessDeniedException',
      'access_denied',
      'ModelNotOpen',
      'unsupported_country_region_territory',
    ],
    class: 'not_sold',
    key: 'model',
  },
  // A key without permission, or a proxy in front of the vendor: no reason to suspend a key.
  { status: [403], when: 'bare', class: 'not_sold', key: 'none' },
  { status: [429], when: 'wait', class: 'not_sold', key: 'cooling' },
  { status: [429], class: 'not_sold', key: 'cooling', confirm: true },
  { status: [503, 529], when: 'code', class: 'not_sold', key: 'none' },
  { status: [408, 409, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529], class: 'unknown', key: 'none' },
]

/** For answers of status 200 that hold only an error: these words also decide what it means for the key. */
export const limitCodes: readonly string[] = [
  'rate_limit_exceeded',
  'rate_limit_error',
  'rate_limited',
  'too_many_requests',
  'RESOURCE_EXHAUSTED',
  'Throttling',
  'ThrottlingException',
]

/** Where vendors put their sentences. */
export const messagePlaces: readonly string[] = [
  'error.message',
  'message',
  'error.detail',
  'detail.message',
  'detail',
  'errors.message',
  'errors',
  'error.metadata.raw',
  'error',
  'msg',
]

/** Where an error without `Retry-After` reports how long to wait (`RetryInfo` of gRPC). */
export const waitPlace = 'error.details.retryDelay'

/** Where machine-readable words are. */
export const usualPlaces: readonly string[] = [
  'error.code',
  'error.type',
  'error.status',
  'error.reason',
  'error.error_code',
  'error.details.reason',
  'error.details.code',
  'error.details.error_code',
  'error.metadata.error_code',
  'error',
  'errors.code',
  'detail.code',
  'detail.status',
  'code',
  'reason',
  'type',
  'error_code',
  'status',
  '__type',
]

/** Members that may be next to an error and are no answer, in the order in which an answer may begin with them. */
export const membersNextToErrors: ReadonlySet<string> = new Set([
  'error',
  'type',
  'code',
  'status',
  'message',
  'success',
  'id',
  'object',
  'created',
  'model',
  'provider',
  'request_id',
  'requestId',
  'user_id',
  'timestamp',
  'sequence_number',
  'event_id',
])

/** Members that report what was made or counted: an error next to one may have been sold, whatever else it reports. */
export const soldMembers: ReadonlySet<string> = new Set(['usage', 'usageMetadata', 'choices', 'candidates', 'output'])
