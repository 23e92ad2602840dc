/** A refusal caused by the body of one request; smaller requests on the same account succeed. */
export type BodyRefusal = {
  readonly name: string
  readonly status: number
  readonly body: unknown
  readonly headers?: { readonly [name: string]: string }
  /**
   * The vendor's text or numbers show that the body is the cause: the key stays active, and the client gets the text.
   */
  readonly isTold: boolean
}

const say = (status: number, message: string, more: object = {}): Omit<BodyRefusal, 'name' | 'isTold'> => ({
  status,
  body: { error: { message, code: status, ...more } },
})

export const bodyRefusals: readonly BodyRefusal[] = [
  {
    name: 'credit for fewer tokens',
    ...say(
      402,
      'This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 18721. To increase, visit the settings and add more credits',
    ),
    isTold: true,
  },
  {
    name: 'more than a minute admits',
    ...say(
      429,
      'Request too large for model in organization on tokens per min (TPM): Limit 30000, Requested 40012. The input or output tokens must be reduced in order to run successfully.',
      { type: 'tokens', param: null, code: 'rate_limit_exceeded' },
    ),
    isTold: true,
  },
  {
    name: 'the same with a time to wait',
    ...say(429, 'Request too large: Limit 30,000, Requested 40,012.', { type: 'tokens', code: 'rate_limit_exceeded' }),
    headers: { 'retry-after': '20' },
    isTold: true,
  },
  {
    name: 'more than a minute admits, with what is used',
    ...say(429, 'Rate limit reached on tokens per min (TPM): Limit 30000, Used 120, Requested 40012.', {
      code: 'rate_limit_exceeded',
    }),
    isTold: true,
  },
  {
    name: 'a prompt over a limit of the account',
    ...say(402, 'Prompt tokens limit exceeded: 5012 > 3000. To increase, visit the settings'),
    isTold: true,
  },
  {
    name: 'a message that stands alone',
    status: 429,
    body: { message: 'Request too large for this tier' },
    isTold: true,
  },
  { name: 'no money, in nobody’s words', ...say(402, 'Payment required'), isTold: false },
  { name: 'no money, in words without numbers', ...say(402, 'Insufficient balance'), isTold: false },
  {
    name: 'too little money, by a code',
    ...say(400, 'no', { code: 'insufficient_balance' }),
    isTold: false,
  },
  {
    name: 'a budget of the key, which holds money for requests under way',
    ...say(403, 'no', { metadata: { limit_source: 'key_limit' } }),
    isTold: false,
  },
  { name: 'a limit without a time', ...say(429, 'This request would exceed your rate limit'), isTold: false },
]
