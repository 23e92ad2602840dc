import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic0'
import t, { type Test } from 'tap'
import { bodyBytesMax, caught, collect, headerOf, readOut, type SdkGateway, startForSdk } from './sdk-gateway.ts'
import { caseName } from '../harness/case-name.ts'

/**
 * The versions in use, with the types of the newest: the older sends its key as `x-api-key` and requests another API
 * version.
 */
const versions = [
  { version: '1', Sdk: Anthropic },
  { version: '0.137', Sdk: Anthropic0 as unknown as typeof Anthropic },
] as const

const model = 'sim-messages'
const answerText = 'simulated answer to: a red boat'
const order = { model, max_tokens: 99, messages: say('a red boat') }

for (const { version, Sdk } of versions) {
  t.test(`anthropic ${version}`, async t => {
    const gateway = await startForSdk(t)
    const connect = (more: { baseURL?: string; apiKey?: string; authToken?: string } = {}) =>
      new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0, ...more })
    const client = connect()
    await callMessages(t, client, gateway)
    await callModels(t, client)
    await raiseErrors(t, connect, gateway, Sdk)
    await breakStreams(t, client, Sdk)
    await t.test('a base address without /v1 and with it, and a key given as a token', async t => {
      for (const baseURL of [gateway.url, `${gateway.url}/v1`]) {
        const other = connect({ baseURL })
        t.match(await other.messages.create(order), { content: [{ text: answerText }] }, baseURL)
        t.equal(await other.messages.stream(order).finalText(), answerText, caseName({ baseURL }))
        t.match(
          await other.messages.countTokens({ model, messages: order.messages }),
          { input_tokens: 3 },
          caseName({ baseURL }),
        )
        t.ok(
          (await collect(other.models.list())).some(({ id }) => id === model),
          caseName({ baseURL }),
        )
        t.equal((await other.models.retrieve(model)).id, model, caseName({ baseURL }))
      }
      const token = new Sdk({ baseURL: gateway.url, apiKey: null, authToken: gateway.key, maxRetries: 0 })
      t.match(await token.messages.create(order), { content: [{ text: answerText }] })
    })
    t.comment(`anthropic ${version}: ${await gateway.requests()} requests`)
  })
}

async function callMessages(t: Test, client: Anthropic, gateway: SdkGateway): Promise<void> {
  await t.test('messages, complete', async t => {
    const answer = await client.messages.create({
      ...order,
      system: 'be brief',
      messages: say('a red boat [[cached 2]]'),
    })
    t.match(answer, {
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: answerText }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 6 },
    })
    const [log] = await gateway.logs(1)
    t.equal(answer._request_id, log?.id, 'the request id is the one in the log')
    t.match(log, { operation: 'messages', usage: { input_tokens: 7, output_tokens: 6 } }, 'cached input is input too')
    const { response, request_id } = await client.messages.create(order).withResponse()
    t.equal(request_id, response.headers.get('x-request-id'))
    t.match(response.headers.get('anthropic-ratelimit-requests-limit'), /^\d+$/)
    t.match(response.headers.get('anthropic-ratelimit-requests-reset'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    t.match(await client.beta.messages.create(order), { content: [{ text: answerText }] })
  })

  await t.test('messages, streamed, raw and with the stream reader of the SDK', async t => {
    const events = await collect(await client.messages.create({ ...order, stream: true }))
    t.equal(events[0]?.type, 'message_start')
    t.equal(events.at(-1)?.type, 'message_stop')
    const text = events.map(event =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
    )
    t.equal(text.join(''), answerText)
    t.match((await gateway.logs(1))[0], { usage: { input_tokens: 3, output_tokens: 6 }, outcome: 'answered' })
    const stream = client.messages.stream(order)
    const read = await stream.finalMessage()
    t.match(read, { content: [{ text: answerText }], usage: { input_tokens: 3, output_tokens: 6 } })
    t.equal(stream.request_id, (await gateway.logs(1))[0]?.id)
  })

  await t.test('a tool and its result, complete and streamed', async t => {
    const input_schema = { type: 'object' as const, properties: { city: { type: 'string' } } }
    const asking = { ...order, messages: say('look_up Rome'), tools: [{ name: 'look_up', input_schema }] }
    const use = { type: 'tool_use', name: 'look_up', input: { city: 'look_up Rome' } }
    t.match(await client.messages.create(asking), { content: [use], stop_reason: 'tool_use' })
    const called = await client.messages.stream(asking).finalMessage()
    t.match(called, { content: [use], stop_reason: 'tool_use' })
    const [block] = called.content
    if (block?.type !== 'tool_use') return
    const result = { type: 'tool_result' as const, tool_use_id: block.id, content: 'rain' }
    const history = [...asking.messages, { role: 'assistant' as const, content: called.content }]
    const finalAnswer = await client.messages.create({
      ...asking,
      messages: [...history, { role: 'user' as const, content: [result] }],
    })
    t.match(finalAnswer.content, [{ text: 'simulated answer to: rain' }])
  })

  await t.test('tokens are counted without an answer', async t => {
    t.match(await client.messages.countTokens({ model, system: 'be brief', messages: order.messages }), {
      input_tokens: 5,
    })
    t.match((await gateway.logs(1))[0], { operation: 'messages.count', status: 200 })
  })
}

async function callModels(t: Test, client: Anthropic): Promise<void> {
  await t.test('models, page by page and one by one', async t => {
    const all = await collect(client.models.list({ limit: 2 }))
    const ids = all.map(({ id }) => id)
    t.equal(new Set(ids).size, ids.length)
    for (const id of ['sim-messages', 'vendor/sim-chat']) {
      t.match(
        all.find(one => one.id === id),
        { type: 'model', id, display_name: String, created_at: /^\d{4}-\d\d-\d\dT/, lifecycle: 'active' },
        caseName({ id }),
      )
      t.match(await client.models.retrieve(id), { type: 'model', id }, caseName({ id }))
    }
    t.match(await caught(client.models.retrieve('missing')), { status: 404 })
  })
}

async function raiseErrors(
  t: Test,
  connect: (more: { apiKey?: string }) => Anthropic,
  gateway: SdkGateway,
  Sdk: typeof Anthropic,
): Promise<void> {
  await t.test('every refusal is raised as its own class, with its type and the logged id', async t => {
    const client = connect({})
    const ask = (content: string) => () => client.messages.create({ ...order, messages: say(content) })
    const as = (apiKey: string) => () => connect({ apiKey }).messages.create(order)
    const wrong = { ...order, messages: 'none' } as unknown as typeof order
    const cases = [
      ['a key that is none', as('sk-none'), 401, Sdk.AuthenticationError, 'authentication_error'],
      [
        'a model that is none',
        () => client.messages.create({ ...order, model: 'none' }),
        404,
        Sdk.NotFoundError,
        'not_found_error',
      ],
      ['a model that the key may not use', as(gateway.keys.barred), 403, Sdk.PermissionDeniedError, 'permission_error'],
      ['a spent budget', as(gateway.keys.broke), 402, Sdk.APIError, 'billing_error'],
      ['a limit', as(gateway.keys.spent), 429, Sdk.RateLimitError, 'rate_limit_error'],
      [
        'a field that the upstream refuses',
        () => client.messages.create(wrong),
        400,
        Sdk.BadRequestError,
        'invalid_request_error',
      ],
      ['a body that is too long', ask('x'.repeat(bodyBytesMax)), 413, Sdk.APIError, 'request_too_large'],
      ['an upstream that fails', ask('[[status 500]]'), 500, Sdk.InternalServerError, 'api_error'],
      ['an upstream that is busy', ask('[[status 429 7]]'), 429, Sdk.RateLimitError, 'rate_limit_error'],
      ['an upstream that is overloaded', ask('[[status 529]]'), 529, Sdk.InternalServerError, 'overloaded_error'],
    ] as const
    for (const [title, call, status, kind, type] of cases) {
      const error = await caught(call)
      t.type(error, kind, title)
      t.equal(error.status, status, title)
      t.match(error, { error: { type: 'error', error: { type, message: String } } }, title)
      const [log] = await gateway.logs(1)
      t.equal(error.requestID, log?.id, `${title}: the id in the log`)
      if (status === 429) t.match(headerOf(error, 'retry-after'), title === 'a limit' ? /^[1-9]\d?$/ : '7', title)
    }
  })
}

async function breakStreams(t: Test, client: Anthropic, Sdk: typeof Anthropic): Promise<void> {
  await t.test('a stream that the upstream cuts raises an error, with what came before it', async t => {
    const cut = { ...order, messages: say('a red boat [[cut]]') }
    const raw = await readOut(await client.messages.create({ ...cut, stream: true }))
    t.type(raw.error, Sdk.APIError)
    t.ok(raw.count > 0)
    t.type(await caught(client.messages.stream(cut).finalMessage()), Sdk.APIError)
    await t.rejects(client.messages.create(cut), 'an answer that is no stream too')
  })

  await t.test('an error that the upstream sends within a stream is raised with its type', async t => {
    const wrong = { ...order, messages: say('a red boat [[error-event]]'), stream: true } as const
    t.match((await readOut(await client.messages.create(wrong))).error, { error: { error: { type: 'api_error' } } })
  })
}

function say(content: string) {
  return [{ role: 'user' as const, content }]
}
