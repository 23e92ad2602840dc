import Anthropic, { APIError as AnthropicApiError } from '@anthropic-ai/sdk'
import { ApiError as GoogleApiError, GoogleGenAI } from '@google/genai'
import Anthropic0 from 'anthropic0'
import { CohereClient, CohereError } from 'cohere-ai'
import { ApiError as Google1ApiError, GoogleGenAI as GoogleGenAI1 } from 'genai1'
import OpenAI, { APIError as OpenaiApiError } from 'openai'
import OpenAI4 from 'openai4'
import OpenAI6 from 'openai6'
import t from 'tap'
import { apiFormats, findApiFormat, guessApiFormat } from '../../src/api-formats/index.ts'
import { requestHeaders, upstreamQuery } from '../../src/engine/headers.ts'
import { type Answer, type Failure, failures, type Upstream } from '../../src/domain/index.ts'
import type { ApiFormat, Head, ListedModel } from '../../src/plugin-api/index.ts'
import { someTarget } from '../harness/request-context.ts'
import { caseName } from '../harness/case-name.ts'

const fail = failures({
  invalid_api_key: { status: 401, type: 'invalid_request_error', text: 'The API key is not valid.' },
  insufficient_quota: { status: 402, type: 'insufficient_quota', text: 'The budget is spent.' },
  model_not_allowed: { status: 403, type: 'invalid_request_error', text: 'Not with this key.' },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    param: 'model',
    text: "The model '{model}' is not offered.",
  },
  method_not_allowed: { status: 405, type: 'invalid_request_error', text: 'Not so.' },
  body_too_slow: { status: 408, type: 'invalid_request_error', text: 'It stopped arriving.' },
  running: { status: 409, type: 'invalid_request_error', text: 'It is running.' },
  body_too_large: { status: 413, type: 'invalid_request_error', text: 'Too large.' },
  unsupported_content_type: { status: 415, type: 'invalid_request_error', text: 'Send JSON.' },
  unprocessable: { status: 422, type: 'invalid_request_error', text: 'No.' },
  invalid_value: { status: 400, type: 'invalid_request_error', param: 'n', text: 'Too many.' },
  rate_limit_exceeded: { status: 429, type: 'requests', text: 'Rate limit user_rpm reached.' },
  internal_error: { status: 500, type: 'server_error', text: 'Something went wrong.' },
  upstream_cut: { status: 502, type: 'server_error', text: 'The upstream broke off.' },
  over_capacity: { status: 503, type: 'server_error', text: 'Full.' },
  deadline_exceeded: { status: 504, type: 'server_error', text: 'Not complete within 5 ms.' },
  overloaded: { status: 529, type: 'server_error', text: 'Too much.' },
})
const every: readonly Failure[] = [
  fail('invalid_value'),
  fail('invalid_api_key'),
  fail('insufficient_quota'),
  fail('model_not_allowed'),
  fail('model_not_found', { model: 'm' }),
  fail('method_not_allowed'),
  fail('body_too_slow'),
  fail('running'),
  fail('body_too_large'),
  fail('unsupported_content_type'),
  fail('unprocessable'),
  fail('rate_limit_exceeded', {}, { retryAfterMs: 6_400 }),
  fail('internal_error'),
  fail('upstream_cut'),
  fail('over_capacity'),
  fail('deadline_exceeded'),
  fail('overloaded'),
]
const id = 'req_1'
const since = Date.UTC(2026, 10, 20, 12, 40, 59, 500)

function style(name: string): ApiFormat {
  const dialect = apiFormats.get(name)
  if (!dialect) throw new Error(`no ${name}`)
  return dialect
}

function someHead(head: Partial<Head>): Head {
  return { method: 'POST', path: '/v1/x', query: '', headers: {}, remote: '127.0.0.1', ...head }
}

function bodyOf(answer: Answer): unknown {
  return JSON.parse(answer.body.toString())
}

/** A `fetch` with a fixed response, in place of the network. */
function network(status: number, body: string, type = 'application/json'): typeof fetch {
  return () =>
    Promise.resolve(
      new Response(body, { status, headers: { 'content-type': type, 'request-id': id, 'x-request-id': id } }),
    )
}

/** The calls that the tests make on an SDK, whatever its version. */
type Asked = {
  retrieve(): Promise<unknown>
  stream(): Promise<AsyncIterable<unknown>>
  list(limit: number): AsyncIterable<{ id: string }>
}

/** Every SDK of the chat-completions style, at a server that is `fetch`. */
function openais(fetch: typeof globalThis.fetch): readonly Asked[] {
  const options = { apiKey: 'sk-x', baseURL: 'http://127.0.0.1:9/v1', maxRetries: 0 }
  const ask = { model: 'm', messages: [], stream: true as const }
  const now = new OpenAI({ ...options, fetch })
  const six = new OpenAI6({ ...options, fetch })
  // Version 4 declares its own type for the same function.
  const four = new OpenAI4({ ...options, fetch: fetch as unknown as Fetch4 })
  return [
    {
      retrieve: () => now.models.retrieve('m'),
      stream: () => now.chat.completions.create(ask),
      list: () => now.models.list(),
    },
    {
      retrieve: () => six.models.retrieve('m'),
      stream: () => six.chat.completions.create(ask),
      list: () => six.models.list(),
    },
    {
      retrieve: () => four.models.retrieve('m'),
      stream: () => four.chat.completions.create(ask),
      list: () => four.models.list(),
    },
  ]
}
type Fetch4 = NonNullable<NonNullable<ConstructorParameters<typeof OpenAI4>[0]>['fetch']>

/** Both SDKs of the messages style. */
function anthropics(fetch: typeof globalThis.fetch): readonly Asked[] {
  const options = { apiKey: 'sk-x', baseURL: 'http://127.0.0.1:9', maxRetries: 0, fetch }
  const ask = { model: 'm', max_tokens: 1, messages: [], stream: true as const }
  const now = new Anthropic(options)
  const before = new Anthropic0(options)
  return [
    {
      retrieve: () => now.models.retrieve('m'),
      stream: () => now.messages.create(ask),
      list: limit => now.models.list({ limit }),
    },
    {
      retrieve: () => before.models.retrieve('m'),
      stream: () => before.messages.create(ask),
      list: limit => before.models.list({ limit }),
    },
  ]
}

async function idsOf(models: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of models) ids.push(id)
  return ids
}

/**
 * Both SDKs of the generative-language style. They accept no custom `fetch`, so this replaces the global one meanwhile.
 */
async function withGoogle<T>(
  fetch: typeof globalThis.fetch,
  use: (one: GoogleGenAI | GoogleGenAI1) => Promise<T>,
): Promise<T[]> {
  const real = globalThis.fetch
  globalThis.fetch = fetch
  try {
    const options = { apiKey: 'sk-x', httpOptions: { baseUrl: 'http://127.0.0.1:9' } }
    return [await use(new GoogleGenAI(options)), await use(new GoogleGenAI1(options))]
  } finally {
    globalThis.fetch = real
  }
}

async function thrown(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  return undefined
}

async function drain(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of stream) events.push(event)
  return events
}

t.test('every API format accepts the key in Authorization and in x-api-key', async t => {
  for (const dialect of apiFormats.values()) {
    const head = someHead({ headers: { authorization: 'bearer  one ', 'x-api-key': 'two' } })
    t.strictSame(dialect.credentials(head), ['one', 'two'], dialect.name)
    t.strictSame(dialect.credentials(someHead({})), [], dialect.name)
    t.strictSame(dialect.credentials(someHead({ headers: { authorization: 'Basic abc' } })), [''], dialect.name)
  }
})

t.test('only the Gemini format accepts x-goog-api-key and ?key=', async t => {
  const head = someHead({ query: 'alt=sse&key=two&pageToken=x&key=thr%65e&key=', headers: { 'x-goog-api-key': 'one' } })
  for (const dialect of apiFormats.values())
    t.strictSame(dialect.credentials(head), dialect.name === 'google' ? ['one', 'two', 'three'] : [], dialect.name)
})

t.test('a query parameter that is read as a key is never forwarded, and the rest of the query is', async t => {
  const rows: readonly [string, readonly string[], string][] = [
    ['key=one', ['one'], ''],
    ['alt=sse&key=one', ['one'], 'alt=sse'],
    ['%6Be%79=one&alt=sse&key=two', ['one', 'two'], 'alt=sse'],
    ['key=on%65', ['one'], ''],
    ['key=', [], ''],
    ['?key=one', [], '?key=one'],
    ['oauth_token=one&bearer_token=two&alt=sse', [], 'alt=sse'],
    ['$key=one&$.access_token=two&%24userProject=three&userproject=four', [], ''],
    ['x-goog-api-key=one&X-API-Key=two&authorization=Bearer+three', [], ''],
    ['pageToken=one&monkey=two', [], 'pageToken=one&monkey=two'],
    ['key%=one&%ff=x', [], 'key%=one&%ff=x'],
  ]
  for (const [query, keys, rest] of rows) {
    t.strictSame(style('google').credentials(someHead({ query })), keys, query)
    t.equal(upstreamQuery(query), rest, query)
  }
})

t.test('no query or header requests an answer without usage from an upstream', async t => {
  const rows: readonly [string, string][] = [
    ['fields=candidates', ''],
    ['alt=sse&%24fields=candidates&$.fields=x', 'alt=sse'],
    ['alt=proto&$alt=media&%61lt=proto&alt=%73se', ''],
    ['alt=json&callback=f&$callback=f&beta=true', 'alt=json&beta=true'],
  ]
  for (const [query, rest] of rows) t.equal(upstreamQuery(query), rest, query)
  for (const accept of ['application/x-protobuf', 'application/json;q=0.1, application/x-protobuf']) {
    const sent = requestHeaders(someHead({ headers: { accept } }), style('google'), someTarget().upstream, {})
    t.notOk(sent.includes('accept'), accept)
  }
})

t.test("by-caller is the client's own format", async t => {
  const rows: readonly [string, Partial<Head>][] = [
    ['openai', {}],
    ['openai', { headers: { authorization: 'Bearer x' } }],
    ['openai', { headers: { 'x-api-key': 'x' } }],
    ['openai', { path: '/v1/models/name%3Alatest' }],
    ['openai', { path: '/v1/models/name:latest' }],
    ['openai', { query: 'pageToken=x&monkey=1' }],
    ['anthropic', { headers: { 'anthropic-version': '2026-10-21', authorization: 'Bearer x' } }],
    ['anthropic', { headers: { 'anthropic-version': '2023-06-01', 'x-api-key': 'x' } }],
    ['google', { headers: { 'x-goog-api-key': 'x' } }],
    ['elevenlabs', { headers: { 'xi-api-key': 'x' } }],
    ['google', { query: 'key=x' }],
    ['google', { query: 'pageSize=2&%6bey=x' }],
    ['google', { path: '/v1beta/models' }],
    ['google', { path: '/v1/v1beta/models/x' }],
  ]
  for (const [name, head] of rows)
    t.equal(findApiFormat('by-caller', someHead({ path: '/v1/models', ...head }))?.name, name, JSON.stringify(head))
  for (const name of apiFormats.keys())
    t.equal(findApiFormat(name, someHead({ path: '/v1beta/x' }))?.name, name, caseName({ name }))
  t.equal(findApiFormat('nobody', someHead({})), undefined)
})

t.test('before a route is known the path or a header may show the format, and in doubt an error is hybrid', async t => {
  const rows: readonly [string, string, Head['headers']?][] = [
    ['hybrid', '/'],
    ['hybrid', '/v1/models?key=x'],
    ['hybrid', '/v1/chat/completions', { authorization: 'Bearer x', 'x-api-key': 'x' }],
    ['hybrid', '/v1/models/name:latest'],
    ['hybrid', '/v1/chat/completions?then=/v1/messages'],
    ['anthropic', '/v1/messages'],
    ['anthropic', '/v1/v1/messages/count_tokens?beta=true'],
    ['anthropic', '/v1/nothing', { 'anthropic-version': '2026-10-21' }],
    ['google', '/v1beta/nothing'],
    ['google', '/v1/models/vendor/m-1:streamGenerateContent?alt=sse'],
    ['google', '/v1/models', { 'x-goog-api-key': 'x' }],
    ['cohere', '/v1/rerank'],
    ['cohere', '/v2/rerank?x=1'],
    ['elevenlabs', '/v1/text-to-speech/x/with-timestamps'],
    ['elevenlabs', '/v1/nothing', { 'xi-api-key': 'x' }],
  ]
  for (const [name, url, headers = {}] of rows) t.equal(guessApiFormat(url, headers).name, name, url)
})

t.test('the OpenAI SDKs read every error completely', async t => {
  for (const failure of every) {
    const { status, body, headers } = style('openai').error(failure, id)
    t.equal(headers['content-type'], 'application/json', caseName({ failure }))
    const { error } = JSON.parse(body.toString()) as { error: object }
    t.strictSame(Object.keys(error), ['message', 'type', 'param', 'code'], caseName({ failure }))
    t.match(
      OpenaiApiError.generate(status, { error }, undefined, new Headers({ 'x-request-id': id })),
      {
        status: failure.status,
        type: failure.type,
        code: failure.code,
        param: failure.param,
        requestID: id,
        message: `${failure.status} ${failure.message}`,
      },
      caseName({ failure }),
    )
  }
})

t.test('errors in the Anthropic format have the type of their status', async t => {
  const words: { [status: string]: string } = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    405: 'invalid_request_error',
    408: 'timeout_error',
    409: 'conflict_error',
    413: 'request_too_large',
    415: 'invalid_request_error',
    422: 'invalid_request_error',
    429: 'rate_limit_error',
    500: 'api_error',
    502: 'api_error',
    503: 'overloaded_error',
    504: 'timeout_error',
    529: 'overloaded_error',
  }
  t.strictSame(every.map(failure => String(failure.status)).toSorted(), Object.keys(words).toSorted())
  for (const failure of every) {
    const { status, code, message } = failure
    const answer = style('anthropic').error(failure, id)
    const type = words[status]
    t.strictSame(
      bodyOf(answer),
      {
        type: 'error',
        error: { type, message, details: { error_code: code } },
        request_id: id,
      },
      caseName({ failure }),
    )
    const error = AnthropicApiError.generate(
      status,
      bodyOf(answer) as object,
      undefined,
      new Headers({ 'request-id': id }),
    )
    t.match(error, { status, type, errorCode: code, apiMessage: message, requestID: id }, caseName({ failure }))
  }
})

t.test('both Anthropic SDKs, and the OpenAI SDKs, raise the hybrid error', async t => {
  const failure = fail('model_not_found', { model: 'm' })
  const { status, body } = style('hybrid').error(failure, id)
  for (const one of anthropics(network(status, body.toString())))
    t.match(
      await thrown(() => one.retrieve()),
      {
        status: 404,
        requestID: id,
        error: bodyOf({ status, headers: {}, body }),
      },
      caseName({ one }),
    )
  for (const one of openais(network(status, body.toString())))
    t.match(
      await thrown(() => one.retrieve()),
      { status: 404, code: 'model_not_found', param: 'model' },
      caseName({ one }),
    )
})

t.test('errors in the Gemini format have the name of their status, and the reason', async t => {
  const words: { [status: string]: string } = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    402: 'FAILED_PRECONDITION',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    405: 'UNIMPLEMENTED',
    408: 'DEADLINE_EXCEEDED',
    409: 'ABORTED',
    413: 'INVALID_ARGUMENT',
    415: 'INVALID_ARGUMENT',
    422: 'INVALID_ARGUMENT',
    429: 'RESOURCE_EXHAUSTED',
    500: 'INTERNAL',
    502: 'UNAVAILABLE',
    503: 'UNAVAILABLE',
    504: 'DEADLINE_EXCEEDED',
    529: 'INTERNAL',
  }
  for (const failure of every) {
    const { status, message, code } = failure
    const answer = style('google').error(failure, id)
    t.match(bodyOf(answer), { error: { code: status, message, status: words[status] } }, caseName({ failure }))
    t.equal(answer.status, status, caseName({ failure }))
    const errors = await withGoogle(network(status, answer.body.toString()), one =>
      thrown(() => one.models.generateContent({ model: 'm', contents: 'hi' })),
    )
    t.ok(errors[0] instanceof GoogleApiError && errors[1] instanceof Google1ApiError, code)
    for (const error of errors) t.match(error, { status, message: answer.body.toString() }, code)
  }
})

t.test('an invalid key is API_KEY_INVALID, a limit has its delay, a field its name', async t => {
  const details = (failure: Failure): unknown =>
    (bodyOf(style('google').error(failure, id)) as { error: { details: unknown } }).error.details
  const rpc = 'type.googleapis.com/google.rpc'
  const request = { '@type': `${rpc}.RequestInfo`, requestId: id }
  t.strictSame(details(fail('invalid_api_key')), [
    { '@type': `${rpc}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com', metadata: {} },
    request,
  ])
  t.strictSame(details(fail('rate_limit_exceeded', {}, { retryAfterMs: 6_400 })), [
    { '@type': `${rpc}.ErrorInfo`, reason: 'RATE_LIMIT_EXCEEDED', domain: 'tollgate', metadata: {} },
    { '@type': `${rpc}.RetryInfo`, retryDelay: '7s' },
    request,
  ])
  t.strictSame(details(fail('invalid_value')), [
    { '@type': `${rpc}.ErrorInfo`, reason: 'INVALID_VALUE', domain: 'tollgate', metadata: {} },
    { '@type': `${rpc}.BadRequest`, fieldViolations: [{ field: 'n', description: 'Too many.' }] },
    request,
  ])
})

t.test('the Cohere SDK raises its own class for every status, with message and id', async t => {
  const classes: { [status: string]: string } = {
    400: 'BadRequestError',
    401: 'UnauthorizedError',
    403: 'ForbiddenError',
    404: 'NotFoundError',
    422: 'UnprocessableEntityError',
    429: 'TooManyRequestsError',
    500: 'InternalServerError',
    503: 'ServiceUnavailableError',
    504: 'GatewayTimeoutError',
  }
  for (const failure of every) {
    const { status, body } = style('cohere').error(failure, id)
    t.strictSame(JSON.parse(body.toString()), { message: failure.message, id }, caseName({ failure }))
    const client = new CohereClient({
      token: 'sk-x',
      environment: 'http://127.0.0.1:9',
      maxRetries: 0,
      fetch: network(status, body.toString()),
    })
    const error = await thrown(() => client.rerank({ model: 'm', query: 'q', documents: ['a'] }))
    t.ok(error instanceof CohereError, String(status))
    t.match(error, { statusCode: status, body: { message: failure.message, id } }, caseName({ failure }))
    if (classes[status]) t.equal((error as Error).name, classes[status], caseName({ failure }))
  }
})

t.test('an error in a stream of chats, pictures or audio makes the SDKs throw it', async t => {
  const failure = fail('upstream_cut')
  const text = style('openai').streamError(failure, id, 'chat')
  t.equal(
    text,
    'data: {"error":{"message":"The upstream broke off.","type":"server_error","param":null,"code":"upstream_cut"}}\n\n',
  )
  t.equal(style('openai').streamError(failure, id, 'image.generate'), text)
  const stream = `data: {"id":"c","choices":[]}\n\n${style('openai').heartbeat}${text}`
  for (const one of openais(network(200, stream, 'text/event-stream'))) {
    const error = await thrown(async () => drain(await one.stream()))
    t.match(error, { type: 'server_error', code: 'upstream_cut' }, caseName({ one }))
  }
})

t.test(
  'an error in a stream of responses is an error event, which SDKs throw, and then the failed response',
  async t => {
    const text = style('openai').streamError(fail('upstream_cut'), id, 'responses') ?? ''
    const records = text
      .split('\n\n')
      .filter(record => record !== '')
      .map(record => /^event: (\S+)\ndata: (.*)$/.exec(record) ?? [])
      .map(([, event, data]) => ({ event, data: JSON.parse(data as string) as { sequence_number: number } }))
    t.match(records, [
      {
        event: 'error',
        data: { type: 'error', code: 'upstream_cut', message: 'The upstream broke off.', param: null },
      },
      {
        event: 'response.failed',
        data: { type: 'response.failed', response: { status: 'failed', error: { code: 'upstream_cut' } } },
      },
    ])
    t.ok((records[0]?.data.sequence_number ?? 0) < (records[1]?.data.sequence_number ?? 0))
    const created = {
      type: 'response.created',
      sequence_number: 0,
      response: { id: 'resp_1', object: 'response', output: [] },
    }
    const stream = `event: response.created\ndata: ${JSON.stringify(created)}\n\n${style('openai').heartbeat}${text}`
    const fetch = network(200, stream, 'text/event-stream')
    const options = { apiKey: 'sk-x', baseURL: 'http://127.0.0.1:9/v1', maxRetries: 0, fetch }
    const ask = { model: 'm', input: 'x', stream: true } as const
    const expected = { code: 'upstream_cut', type: 'server_error', status: undefined }
    const now = new OpenAI(options)
    t.match(await thrown(async () => drain(await now.responses.create(ask))), expected)
    t.match(await thrown(async () => drain(await new OpenAI6(options).responses.create(ask))), expected)
    t.match(await thrown(() => now.responses.stream(ask).finalResponse()), expected)
  },
)

t.test('an error in a stream of messages makes both SDKs throw it, and a ping before it does not', async t => {
  const text = style('anthropic').streamError(fail('upstream_cut'), id, 'messages')
  t.equal(style('anthropic').heartbeat, 'event: ping\ndata: {"type":"ping"}\n\n')
  for (const one of anthropics(network(200, `${style('anthropic').heartbeat}${text}`, 'text/event-stream'))) {
    const error = await thrown(async () => drain(await one.stream()))
    t.match(
      error,
      { type: 'api_error', error: { error: { message: 'The upstream broke off.' }, request_id: id } },
      caseName({ one }),
    )
  }
})

t.test('an error in a generative-language stream makes both SDKs throw it', async t => {
  const text = style('google').streamError(fail('over_capacity'), id, 'generate')
  const error = '{"error":{"code":503,"message":"Full.","status":"UNAVAILABLE"}}'
  t.equal(text, `data: ${error}\n\n${error}`)
  const errors = await withGoogle(network(200, `data: {"candidates":[]}\n\n${text}`, 'text/event-stream'), one =>
    thrown(async () => drain(await one.models.generateContentStream({ model: 'm', contents: 'hi' }))),
  )
  t.match(errors[0], { status: 503 })
  t.match(errors[1], { message: 'Incomplete JSON segment at the end' })
  t.equal(style('google').heartbeat, undefined)
})

t.test('the formats of Cohere and ElevenLabs have no events', async t => {
  for (const name of ['cohere', 'elevenlabs']) {
    t.equal(style(name).streamError(fail('upstream_cut'), id, 'rerank'), undefined, name)
    t.equal(style(name).heartbeat, undefined, name)
  }
})

t.test("limit headers follow the client's format", async t => {
  const limits = [
    { kind: 'requests', limit: 60, remaining: 59, resetMs: 1_000 },
    { kind: 'tokens', limit: 150_000, remaining: 149_984, resetMs: 360_000 },
  ] as const
  const plain = {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-limit-tokens': '150000',
    'x-ratelimit-remaining-tokens': '149984',
    'x-ratelimit-reset-tokens': '6m0s',
  }
  for (const name of ['openai', 'google', 'cohere', 'elevenlabs', 'hybrid'])
    t.strictSame(style(name).limitHeaders(limits, since), plain, name)
  t.strictSame(style('anthropic').limitHeaders(limits, since), {
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '59',
    'anthropic-ratelimit-requests-reset': '2026-11-20T12:41:01Z',
    'anthropic-ratelimit-tokens-limit': '150000',
    'anthropic-ratelimit-tokens-remaining': '149984',
    'anthropic-ratelimit-tokens-reset': '2026-11-20T12:47:00Z',
  })
})

const names = ['a', 'b', 'vendor/c', 'd', 'e']
const models: readonly ListedModel[] = names.map((name, i) => ({
  name,
  family: 'text',
  operations: i === 0 ? ['generate', 'generate.count', 'generate.embed', 'chat'] : ['rerank'],
  since,
}))

/** The page that a style gives for a request's address. */
function pages(name: string): typeof fetch {
  return input => {
    const url = new URL(input instanceof Request ? input.url : input)
    return Promise.resolve(Response.json(style(name).modelList(models, url.search.slice(1))))
  }
}

t.test('models are listed in the chat-completions style without pages', async t => {
  const created = Math.floor(since / 1000)
  t.strictSame(style('openai').modelOne(models[2] as ListedModel), {
    id: 'vendor/c',
    object: 'model',
    created,
    owned_by: 'text',
  })
  for (const one of openais(pages('openai'))) t.strictSame(await idsOf(one.list(0)), names, caseName({ one }))
})

t.test('models are listed in the messages style in pages that its SDKs follow to the end', async t => {
  t.strictSame(style('anthropic').modelList(models, 'limit=2&after_id=b'), {
    data: ['vendor/c', 'd'].map(name => ({
      type: 'model',
      id: name,
      display_name: name,
      created_at: '2026-11-20T12:40:59Z',
      lifecycle: 'active',
    })),
    has_more: true,
    first_id: 'vendor/c',
    last_id: 'd',
  })
  t.match(style('anthropic').modelList(models, 'limit=2&before_id=d'), {
    first_id: 'b',
    last_id: 'vendor/c',
    has_more: true,
  })
  t.match(style('anthropic').modelList(models, 'limit=2&before_id=a'), { data: [], first_id: null, has_more: false })
  t.match(style('anthropic').modelList(models, 'after_id=gone'), { data: [], last_id: null, has_more: false })
  t.match(style('anthropic').modelList(models, 'limit=0'), { first_id: 'a', last_id: 'e', has_more: false })
  for (const one of anthropics(pages('anthropic')))
    for (const limit of [1, 2, 3, 5, 100]) t.strictSame(await idsOf(one.list(limit)), names, caseName({ one, limit }))
})

t.test('models are listed in the generative-language style in pages that its SDKs follow to the end', async t => {
  t.strictSame(style('google').modelOne(models[0] as ListedModel), {
    name: 'models/a',
    displayName: 'a',
    supportedGenerationMethods: ['generateContent', 'countTokens', 'embedContent'],
  })
  t.notOk('nextPageToken' in style('google').modelList(models, 'pageSize=5'))
  for (const pageSize of [1, 2, 5, 100]) {
    const lists = await withGoogle(pages('google'), async one =>
      (await drain(await one.models.list({ config: { pageSize } }))).map(model => (model as { name: string }).name),
    )
    for (const found of lists)
      t.strictSame(
        found,
        names.map(name => `models/${name}`),
        caseName({ pageSize, found }),
      )
  }
})

t.test('the rerank format lists rerankers', async t => {
  t.match(style('cohere').modelList(models, ''), {
    models: [
      { name: 'a', endpoints: [] },
      { name: 'b', endpoints: ['rerank'] },
    ],
  })
  t.same(style('cohere').modelOne(models[1] as ListedModel), { name: 'b', endpoints: ['rerank'], finetuned: false })
})

t.test('upstreams in the Anthropic format get a version from the operator, the client, or by default', async t => {
  const upstream = { ...someTarget().upstream, credential: [] }
  const sent = (head: Head, headers: Upstream['headers'], dialect = style('anthropic')): string[] =>
    requestHeaders(head, dialect, { ...upstream, headers }, {}).filter((_, i, all) =>
      all[i - (i % 2)]?.startsWith('anthropic-'),
    )
  const clientHead = someHead({
    headers: { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b', 'x-api-key': 'x' },
  })
  t.strictSame(sent(someHead({}), {}), ['anthropic-version', '2023-06-01'])
  t.strictSame(sent(someHead({ headers: { 'anthropic-version': '' } }), {}), ['anthropic-version', '2023-06-01'])
  t.strictSame(sent(clientHead, {}), ['anthropic-version', '2026-10-21', 'anthropic-beta', 'a,b'])
  t.strictSame(sent(clientHead, { 'anthropic-version': '2024-01-01' }), [
    'anthropic-version',
    '2024-01-01',
    'anthropic-beta',
    'a,b',
  ])
  t.strictSame(sent(clientHead, {}, style('openai')), [])
})
