import { setTimeout as wait } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start, type Started } from '../harness/start.ts'

async function until<T>(found: () => Promise<T | undefined | false>): Promise<T> {
  for (let i = 0; i < 3_000; i++) {
    const value = await found()
    if (value) return value
    await wait(10)
  }
  throw new Error('it never came to that')
}

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

const open = (t: Test, edit: Edits = []): Promise<Started> => start(t, { simulated: true, edit })

/** The charge of the newest batch, once it has ended. */
const ended = (started: Started) =>
  until(async () => {
    const found = (await started.charges()).filter(({ lines, state }) => lines.length > 0 || state === 'reserved')
    const [charge] = found
    return charge && charge.state !== 'reserved' ? charge : undefined
  })

type Line = { readonly model?: string; readonly body?: object; readonly url?: string }

const path = '/v1/chat/completions'

function lineOf({ model = 'sim-chat', body = {}, url = path }: Line, i: number): string {
  const messages = [{ role: 'user', content: `Say ${i}.` }]
  return JSON.stringify({ custom_id: `c${i}`, method: 'POST', url, body: { model, messages, max_tokens: 16, ...body } })
}

async function upload(client: OpenAI, lines: readonly Line[] | string): Promise<string> {
  const text = typeof lines === 'string' ? lines : lines.map(lineOf).join('\n')
  const file = await client.files.create({ purpose: 'batch', file: await toFile(Buffer.from(text), 'in.jsonl') })
  return file.id
}

const create = (client: OpenAI, id: string) =>
  client.batches.create({ input_file_id: id, endpoint: path, completion_window: '24h' })

t.test('charges a file batch once, at the batch price, also if no client fetches its results', async t => {
  const started = await open(t)
  const { openai } = started
  const batch = await create(openai, await upload(openai, [{}, {}, {}]))
  t.match(batch, { status: 'validating', object: 'batch' })
  const charge = await ended(started)
  t.match(charge, { state: 'settled', flags: [] })
  const done = await openai.batches.retrieve(batch.id)
  t.match(done, { status: 'completed', request_counts: { completed: 3 } })
  const text = await (await openai.files.content(done.output_file_id as string)).text()
  const used = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).response.body.usage as { prompt_tokens: number; completion_tokens: number })
  const [input, output] = [
    used.reduce((sum, one) => sum + one.prompt_tokens, 0),
    used.reduce((sum, one) => sum + one.completion_tokens, 0),
  ]
  t.match(
    charge.lines.map(({ tier, quantity }) => [tier, quantity]),
    [
      ['input', input],
      ['output', output],
    ],
  )
  t.ok(Math.abs(Number(charge.amount) - (input * 0.5 + output * 1.5) / 2e6) <= 1e-6, charge.amount)
  const [listed] = (await openai.batches.list()).data
  t.match(listed, { id: batch.id, status: 'completed' }, 'lists show the last known state')
  t.match((await openai.files.list()).data.map(({ id }) => id).includes(done.output_file_id as string), true)
  t.strictSame(await checkBooks(started.gateway), [])
  const { key } = await started.newKey({ name: 'other' })
  const other = new OpenAI({ baseURL: `${started.url}/v1`, apiKey: key, maxRetries: 0 })
  for (const [name, call] of Object.entries({
    get: other.batches.retrieve(batch.id),
    cancel: other.batches.cancel(batch.id),
    output: other.files.content(done.output_file_id as string),
    input: create(other, batch.input_file_id),
  }))
    t.match(await refusalOf(call), { status: 404, code: 'object_not_found' }, name)
  t.strictSame((await other.batches.list()).data, [])
})

t.test('a batch of embeddings is charged for its input only', async t => {
  const priced = [/^( {2}sim-embedding: .*?)prices: \{[^}]*\}/m, '$1prices: { input: "0.02", output: "5.00" }'] as const
  const started = await open(t, [priced])
  const { openai } = started
  const url = '/v1/embeddings'
  const line = { custom_id: 'c', method: 'POST', url, body: { model: 'sim-embedding', input: 'a boat' } }
  const file = await upload(openai, JSON.stringify(line))
  await openai.batches.create({ input_file_id: file, endpoint: url, completion_window: '24h' })
  const charge = await ended(started)
  t.match(charge, { state: 'settled', flags: [] })
  t.same(
    charge.lines.map(({ tier }) => tier),
    ['input'],
  )
})

t.test('refuses a file batch with a request that its key may not send', async t => {
  const started = await open(t)
  const { openai } = started
  const { key } = await started.newKey({ name: 'bound', models: ['sim-chat', 'sim-messages'] })
  const bound = new OpenAI({ baseURL: `${started.url}/v1`, apiKey: key, maxRetries: 0 })
  const { key: poor } = await started.newKey({ name: 'poor', budget: 1 })
  const cases: readonly (readonly [OpenAI, readonly Line[] | string, object])[] = [
    [bound, [{}, { model: 'sim-embedding' }], { code: 'batch_models_mixed' }],
    [bound, [{ model: 'sim-none' }], { code: 'batch_model_unavailable', status: 400 }],
    [bound, [{ model: 'sim-messages' }], { code: 'batch_model_unavailable' }],
    [openai, [{ url: '/v1/responses' }], { code: 'batch_line_invalid', message: /line 1/ }],
    [openai, [{}, { body: { tools: [{ type: 'image_generation' }] } }], { code: 'batch_tool_refused' }],
    [
      openai,
      [{ body: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] } }],
      {
        code: 'batch_object_unknown',
        status: 404,
      },
    ],
    [openai, `${lineOf({}, 1)}\nno json`, { code: 'batch_line_invalid', message: /line 2.*[^.]\.$/ }],
    [openai, ' \n', { code: 'batch_empty' }],
    [new OpenAI({ baseURL: `${started.url}/v1`, apiKey: poor, maxRetries: 0 }), [{}], { status: 402 }],
  ]
  for (const [client, lines, refusal] of cases)
    t.match(
      await refusalOf(upload(client, lines).then(id => create(client, id))),
      refusal,
      caseName({ lines: JSON.stringify(lines) }),
    )
  const id = await upload(openai, [{}])
  const bad = await started.post('/v1/batches', { input_file_id: id, endpoint: '/v1/images/generations' })
  t.match(await bad.json(), { error: { code: 'batch_path_refused' } })
  t.notOk(
    (await started.charges()).some(({ state }) => state === 'reserved'),
    'nothing is held',
  )
  t.match(await create(openai, id), { object: 'batch' }, 'the upstream is not paused by these refusals')
  t.equal((await ended(started)).state, 'settled')
})

const ask = (i: number, more: object = {}) => ({
  custom_id: `c${i}`,
  params: {
    model: 'sim-messages',
    max_tokens: 16,
    messages: [{ role: 'user' as const, content: `Say ${i}.` }],
    ...more,
  },
})

t.test('charges a message batch once, at the batch price, and serves its results', async t => {
  const started = await open(t)
  const anthropic = new Anthropic({ baseURL: started.url, apiKey: started.key, maxRetries: 0 })
  const { batches } = anthropic.messages
  const batch = await batches.create({ requests: [ask(1), ask(2)] })
  t.match(batch, { processing_status: 'in_progress' })
  t.match(await refusalOf(batches.delete(batch.id)), { status: 409 }, 'it is not deleted before it is charged')
  const charge = await ended(started)
  t.match(charge, { state: 'settled' })
  const done = await batches.retrieve(batch.id)
  t.equal(done.results_url, `/v1/messages/batches/${batch.id}/results`, 'the link leads to the gateway')
  const used = []
  for await (const { result } of await batches.results(batch.id))
    if (result.type === 'succeeded') used.push(result.message.usage)
  const input = used.reduce((sum, one) => sum + one.input_tokens, 0)
  const output = used.reduce((sum, one) => sum + one.output_tokens, 0)
  t.equal(used.length, 2)
  t.ok(Math.abs(Number(charge.amount) - (input * 1 + output * 5) / 2e6) <= 1e-6, charge.amount)
  t.match((await batches.list()).data, [{ id: batch.id, processing_status: 'ended' }])
  const { key } = await started.newKey({ name: 'other' })
  const other = new Anthropic({ baseURL: started.url, apiKey: key, maxRetries: 0 }).messages.batches
  for (const [name, call] of Object.entries({
    get: other.retrieve(batch.id),
    cancel: other.cancel(batch.id),
    delete: other.delete(batch.id),
  }))
    t.match(await refusalOf(call), { status: 404, error: { type: 'error' } }, name)
  t.equal(
    (await started.get(`/v1/messages/batches/${batch.id}/results`, { authorization: `Bearer ${key}` })).status,
    404,
  )
  await until(async () => (await started.gateway.storage.jobs.openOf(started.keyId)) === 0)
  t.match(await batches.delete(batch.id), { type: 'message_batch_deleted' })
  t.match(await refusalOf(batches.retrieve(batch.id)), { status: 404 })
  t.strictSame((await batches.list()).data, [])
  t.strictSame(await checkBooks(started.gateway), [])
})

t.test(
  'refuses a message batch with a request that its key may not send, and never charges a cancelled one',
  async t => {
    const started = await open(t)
    const { key } = await started.newKey({ name: 'bound', models: ['sim-messages'] })
    const anthropic = new Anthropic({ baseURL: started.url, apiKey: started.key, maxRetries: 0 })
    const bound = new Anthropic({ baseURL: started.url, apiKey: key, maxRetries: 0 })
    const drawing = { tools: [{ type: 'image_generation', name: 'x' }] }
    for (const [client, requests] of [
      [bound, [ask(1), ask(2, { model: 'sim-chat' })]],
      [anthropic, [ask(1), ask(2, { model: 'sim-chat' })]],
      [anthropic, [ask(1, { model: 'none' })]],
      [anthropic, [ask(1), ask(2, drawing)]],
      [anthropic, [ask(1), { custom_id: 'c2', params: 7 }]],
      [anthropic, []],
      [
        anthropic,
        [
          ask(1, {
            messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }] }],
          }),
        ],
      ],
    ] as const) {
      const refused = await refusalOf(client.messages.batches.create({ requests: requests as never }))
      t.match(refused, { status: /^40[04]$/ }, caseName({ requests: JSON.stringify(requests) }))
    }
    const unnamed = { message: /Missing required parameter: 'requests\[0\]\.params\.model'/ }
    t.match(await refusalOf(anthropic.messages.batches.create({ requests: [] })), unnamed)
    t.strictSame(await started.charges(), [], 'nothing is charged')
    const batch = await anthropic.messages.batches.create({ requests: [ask(1)] })
    await anthropic.messages.batches.cancel(batch.id)
    const [charge] = await until(async () => {
      const found = await started.charges()
      return found[0] && found[0].state !== 'reserved' && found
    })
    t.match(charge, { state: 'voided', amount: '0' })
  },
)

t.test('charges a batch that its first response shows as ended', async t => {
  const started = await start(t)
  const result = { status_code: 200, body: { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 1000 } } }
  const results = JSON.stringify({ custom_id: 'c1', response: result })
  for (const [status, state, amount] of [
    ['completed', 'settled', '0.001'],
    ['failed', 'voided', '0.00'],
  ] as const) {
    const batch = { object: 'batch', status, ...(status === 'completed' && { output_file_id: 'file-out' }) }
    started.upstreams['text']?.answer((res, { url }) => {
      const isInput = url === '/v1/files/file-in/content'
      if (url.endsWith('/content')) {
        res.writeHead(200).end(isInput ? lineOf({}, 1) : results)
        return
      }
      const found = url.startsWith('/v1/files')
        ? { id: 'file-in', object: 'file' }
        : { id: `batch_${status}`, ...batch }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found))
    })
    await create(started.openai, await upload(started.openai, [{}]))
    const charge = await until(async () => {
      const [newest] = await started.charges(1)
      return newest && newest.state !== 'reserved' && newest
    })
    t.match(charge, { state, amount }, status)
  }
  // A job ends after its charge.
  t.ok(await until(async () => (await started.gateway.storage.jobs.openOf(started.keyId)) === 0))
  t.strictSame(await checkBooks(started.gateway), [])
})

t.test('a batch with fewer results than the upstream counts, or with others, waits for review', async t => {
  const started = await start(t)
  const good = {
    custom_id: 'c1',
    response: { status_code: 200, body: { choices: [], usage: { prompt_tokens: 1000 } } },
  }
  const failed = { custom_id: 'c2', response: { status_code: 400, body: { error: { message: 'no' } } } }
  const rows: readonly (readonly [string, readonly unknown[] | undefined, number, string, string | null])[] = [
    ['no file', undefined, 2, 'needs_review', 'results_missing'],
    ['an empty file', [], 2, 'needs_review', 'results_missing'],
    ['a result less', [good], 2, 'needs_review', 'results_missing'],
    ['something else than results', [7], 1, 'needs_review', 'results_unreadable'],
    ['a list', [[good]], 1, 'needs_review', 'results_unreadable'],
    ['a response without a body', [{ response: { status_code: 200 } }], 1, 'needs_review', 'results_unreadable'],
    ['all results', [good, good], 2, 'settled', null],
    ['a failed request that is counted', [good, failed], 2, 'settled', null],
    ['no results, and none counted', undefined, 0, 'voided', 'nothing_used'],
  ]
  for (const [name, results, completed, state, reason] of rows) {
    started.upstreams['text']?.answer((res, { method, url }) => {
      const isInput = url === '/v1/files/file-in/content'
      const lines = results?.map(one => JSON.stringify(one)).join('\n')
      if (url.endsWith('/content')) {
        res.writeHead(200).end(isInput ? lineOf({}, 1) : lines)
        return
      }
      const output = results && { output_file_id: 'file-out' }
      const batch = { id: `batch_${name}`, object: 'batch', ...output, request_counts: { completed } }
      const status = method === 'GET' ? 'completed' : 'validating'
      const found = url.startsWith('/v1/files') ? { id: 'file-in', object: 'file' } : { ...batch, status }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found))
    })
    await create(started.openai, await upload(started.openai, [{}]))
    const charge = await until(async () => {
      const [newest] = await started.charges(1)
      return newest && newest.state !== 'reserved' && newest
    })
    t.match(charge, { state, reason }, name)
  }
  t.ok(await until(async () => (await started.gateway.storage.jobs.openOf(started.keyId)) === 0))
  t.strictSame((await started.gateway.storage.books.verify()).problems, [])
})

t.test('prices each request of a batch by its own length, and replays the charge', async t => {
  const started = await open(t, [
    [
      'times: [{ if: { service_tier: batch }, by: "0.5" }]',
      'times: [{ if: { service_tier: batch }, by: "0.5" }], overrides: [{ if: { input_above: 50 }, input: "10.00" }]',
    ],
  ])
  const { openai } = started
  const long = { messages: [{ role: 'user', content: 'word '.repeat(80) }] }
  await create(openai, await upload(openai, [{}, { body: long }, {}]))
  const charge = await ended(started)
  const inputs = charge.lines.filter(({ tier }) => tier === 'input')
  t.equal(inputs.length, 2, 'an item for each price')
  t.ok(
    inputs.some(({ quantity, price }) => quantity === 80 && price === '0.0004'),
    JSON.stringify(inputs),
  )
  const books = await checkBooks(started.gateway)
  t.strictSame(books, [])
})
