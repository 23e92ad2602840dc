import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { explainRequest } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const words = 'one two three four five six seven eight nine ten'
const all = `${words} [[cached 2]][[written 4 1]][[audio 3]][[reasoning 5]][[searches 2]]`

type Case = {
  readonly path: string
  readonly body: object
  /** In the notation of the column `counts`. */
  readonly counts: string
}

const messages = [{ role: 'user', content: all }]
const contents = [{ role: 'user', parts: [{ text: all }] }]
const cases: readonly Case[] = [
  {
    path: '/v1/messages',
    body: { model: 'sim-messages', max_tokens: 99, messages },
    counts: 'input=11 cached_input=2 cache_write=3 cache_write_1h=1 output=13 reasoning=5 web_search=2',
  },
  {
    path: '/v1/chat/completions',
    body: { model: 'sim-chat', messages },
    counts: 'input=8 cached_input=2 cache_write=4 input_audio=3 output=13 reasoning=5',
  },
  {
    path: '/v1/responses',
    body: { model: 'sim-chat', input: all },
    counts: 'input=11 cached_input=2 cache_write=4 output=13 reasoning=5 web_search=2',
  },
  {
    path: '/v1beta/models/sim-generative:generateContent',
    body: { contents },
    counts: 'input=12 cached_input=2 input_audio=3 output=13 reasoning=5 web_search=2 grounding=1',
  },
]
const streamed = ({ path, body, counts }: Case): Case =>
  path.startsWith('/v1beta')
    ? { path: path.replace(':generateContent', ':streamGenerateContent?alt=sse'), body, counts }
    : { path, body: { ...body, stream: true }, counts }

t.test('[14.10] every count that the simulator reports is in the charge, streamed or not', async t => {
  const started = await start(t, {
    simulated: true,
    edit: [[/unpriced: refuse/, 'unpriced: parent']],
  })
  const admin = await enterAsAdmin(started)
  for (const one of [...cases, ...cases.map(streamed)]) {
    const answer = await started.post(one.path, one.body)
    t.equal(answer.status, 200, await answer.text())
    await started.settled()
    const id = answer.headers.get('x-request-id') ?? ''
    const charge = (await (await started.get(`/v1/charges/${id}`)).json()) as { lines: Line[] }
    t.equal(countsOf(charge.lines), one.counts, `${one.path}: GET /v1/charges/{id}`)
    const { body } = (await admin.get(`/api/logs/${id}`)) as { body: { billing: { lines: Line[] } } }
    t.equal(countsOf(body.billing.lines), one.counts, `${one.path}: the console's page of the request`)
  }
})

type Line = { readonly tier: string; readonly quantity: number; readonly why: string }
const countsOf = (lines: readonly Line[]): string => lines.map(({ tier, quantity }) => `${tier}=${quantity}`).join(' ')

t.test('[14.10] lists, tables, statements and prices have every count', async t => {
  const started = await start(t, { simulated: true })
  const { path, body, counts } = cases[0] as Case
  const answer = await started.post(path, body)
  await answer.arrayBuffer()
  await started.settled()
  const id = answer.headers.get('x-request-id') ?? ''
  const admin = await enterAsAdmin(started)
  const cli = (...args: string[]) => runCli({ folder: started.folder }, ...args)
  const units = counts.split(' ').map(one => one.split('=')) as [string, string][]

  t.match((await cli('logs', '--format', 'csv')).stdout, `,${counts},standard,,,,,,,,,\n`, 'tollgate logs')
  t.match(
    (await cli('logs')).stdout,
    'input 11, cached input 2, cache write 3, cache write 1h 1, output 13, reasoning 5, web search 2',
  )
  const explained = (await cli('explain', 'log', id)).stdout
  for (const why of [
    '2 cached input tokens × 0.10 / 1M',
    '1 cache write 1h token × 2.00 / 1M',
    '2 web searches × 10.00 / 1K',
  ])
    t.match(explained, why, `explain log: ${why}`)
  const table = await admin.get('/api/logs/export?format=csv')
  t.match(table.text, `,${counts},standard,,,,,,,,,\r\n`, 'the table of the log')

  const month = new Date().toISOString().slice(0, 7)
  const statement = (await admin.get(`/api/statements?month=${month}`)).body as {
    accounts: { lines: { tier: string; quantity: number }[] }[]
  }
  const counted = new Map(statement.accounts[0]?.lines.map(({ tier, quantity }) => [tier, String(quantity)]))
  t.strictSame(counted, new Map(units.toSorted(([a], [b]) => (a < b ? -1 : 1))), 'the statement')
  const lines = (await cli('statement', '--month', month, '--format', 'csv')).stdout
  for (const [unit, quantity] of units)
    t.match(lines, new RegExp(`,${unit},0,${quantity},`), `the statement as a table: ${unit}`)

  const page = await (await fetch(`${started.url}/pricing`)).text()
  for (const words of ['Cached input', 'Cache write tokens', 'Cache write tokens, 1 hour', 'Web search'])
    t.match(page, new RegExp(words, 'i'), `the price page: ${words}`)
})

t.test('[14.10] the price list has conditional text prices, and factors', async t => {
  const started = await start(t, {
    upstreams: ['text'],
    edit: [
      [
        /^( {2}sim-chat: .*?), times: .*\}$/m,
        '$1, overrides: [{ if: { input_above: 128000 }, input: "4.44" }], times: [{ if: { service_tier: flex }, by: "0.5" }] }',
      ],
    ],
  })
  const conditional = {
    overrides: [{ if: { input_above: 128_000 }, units: [{ unit: 'input', price: '4.44', per: 1_000_000 }] }],
    unit_times: [{ if: { service_tier: 'flex' }, by: '0.5' }],
  }
  const { models } = (await (await fetch(`${started.url}/api/pricing`)).json()) as { models: { name: string }[] }
  t.match(
    models.find(({ name }) => name === 'sim-chat'),
    conditional,
  )
  t.notMatch(
    models.find(({ name }) => name !== 'sim-chat'),
    { overrides: [] },
    'a model without conditions says nothing of them',
  )
  const page = await (await fetch(`${started.url}/pricing`)).text()
  t.match(page, /more than 128,000 input tokens<.*?4\.44/s)
  t.match(page, /service tier flex<.*?× 0\.5/s)
})

t.test('[14.10] service tier, speed and region of a text are fields of its charge and columns of tables', async t => {
  const started = await start(t, {
    upstreams: ['text'],
    edit: [[/unpriced: refuse/, 'unpriced: parent']],
  })
  const choice = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }
  started.upstream.answer({
    choices: [choice],
    service_tier: 'priority',
    usage: { prompt_tokens: 1_000, completion_tokens: 20 },
  })
  const answer = await started.post('/v1/chat/completions', {
    model: 'sim-chat',
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.equal(answer.status, 200, await answer.text())
  await started.settled()
  const id = answer.headers.get('x-request-id') ?? ''
  const facts = { service_tier: 'priority' }
  t.strictSame(((await (await started.get(`/v1/charges/${id}`)).json()) as { facts: object }).facts, facts)
  const admin = await enterAsAdmin(started)
  t.match((await admin.get(`/api/logs/${id}`)).body, { billing: { facts } })
  t.match(
    (await admin.get('/api/logs/export?format=csv')).text,
    /,service_tier,speed,region,end_user,tags,cache,saved,alias,use_amount,use_refunded\r\n[^]*,input=1000 output=20,priority,,,,,,,,,\r\n/,
  )
  const cli = (...args: string[]) => runCli({ folder: started.folder }, ...args)
  t.match((await cli('logs', '--format', 'csv')).stdout, ',priority,,,,,,,,,\n')
  t.match((await cli('explain', 'log', id)).stdout, 'facts      service_tier priority')
})

t.test(
  "[14.7] explain chat's hold is at least its cost for the counts, and it accepts the body of a request",
  async t => {
    const started = await start(t, { upstreams: ['text'] })
    const cli = (...args: string[]) =>
      runCli({ folder: started.folder }, 'explain', 'chat', '--model', 'sim-chat', ...args)
    const quoteOf = async (...args: string[]) => {
      const { stdout, stderr } = await cli('--format', 'json', ...args)
      t.equal(stderr, '', args.join(' '))
      return (JSON.parse(stdout) as { quote: { at_most: string; expected: string | null } }).quote
    }
    const { at_most: most, expected } = await quoteOf('--input-tokens', '500000', '--output-tokens', '90000')
    t.equal(expected, '0.385', '500,000 × 0.50 / 1M + 90,000 × 1.50 / 1M')
    t.ok(Number(most) >= 0.385, most)

    const body = join(started.folder, 'body.json')
    writeFileSync(
      body,
      JSON.stringify({ model: 'other', max_tokens: 7, messages: [{ role: 'user', content: 'x'.repeat(4_000) }] }),
    )
    const short = await quoteOf('--message', 'x', '--max-tokens', '7')
    const long = await quoteOf('--body', body)
    t.ok(Number(long.at_most) > 10 * Number(short.at_most), `${long.at_most}, ${short.at_most}`)
    writeFileSync(body, '[]')
    t.match(await cli('--body', body), { code: 2, stderr: /--body .*: expected a JSON/ })
    t.match(await cli('--body', `${body}.gone`), { code: 2, stderr: /ENOENT/ })
  },
)

t.test("[14.1] an aggregator's reported cost of a text is stored with its charge", async t => {
  const started = await start(t, { upstreams: ['text'] })
  const usage = { prompt_tokens: 12, completion_tokens: 34, cost: 0.0000426 }
  const choice = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }
  const ask = async (stream: boolean) => {
    const answer = await started.post('/v1/chat/completions', {
      model: 'sim-chat',
      messages: [{ role: 'user', content: 'hello' }],
      stream,
    })
    await answer.text()
    await started.settled()
    return (await started.get(`/v1/charges/${answer.headers.get('x-request-id')}`)).json()
  }
  started.upstream.answer({ choices: [choice], usage })
  t.match(await ask(false), { amount: '0.000057', vendor_cost: '0.000043' })
  started.upstream.answer((res: ServerResponse) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (rest: object) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...rest })}\n\n`
    const { message, ...end } = choice
    res.end(`${chunk({ choices: [{ ...end, delta: message }] })}${chunk({ choices: [], usage })}data: [DONE]\n\n`)
  })
  t.match(await ask(true), { amount: '0.000057', vendor_cost: '0.000043' }, 'at the end of a stream')
  const compared = await runCli({ folder: started.folder }, 'usage', '--against-vendor', '--format', 'json')
  t.match(compared.stdout, '"0.000086"', 'and compared with ours')
})

const explained = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: { multiplier: "0.5" } }
upstreams:
  text: { url: "\${TEXT_URL}", region: eu, credential: { header: authorization, value: "Bearer \${TEXT_API_KEY}" } }
pipeline: [auth, size-normalize, image-tier-billing, token-usage]
families:
  writes: { forward: { chat: { all: true } }, token-usage: {} }
  speaks: { forward: { audio.speech: { all: true } }, token-usage: { count_characters_of: input } }
  voices: { forward: { text-to-speech: { all: true } }, token-usage: { count_characters_of: text } }
  draws:
    forward: { responses: { all: true } }
    image-tier-billing: { tiers: [{ tier: 1K }], tier_from: [output], otherwise: 1K, answers: { responses: output } }
    token-usage: { image_tools: bill }
models:
  plain: { family: writes, upstream: text, prices: { input: "10", output: "20", request: "0.5" } }
  long: { family: writes, upstream: text, prices: { input: "10", output: "20" }, overrides: [{ if: { input_above: 50 }, input: "40" }] }
  fast: { family: writes, upstream: text, prices: { input: "10", output: "20" }, times: [{ if: { service_tier: priority }, by: "3" }] }
  local: { family: writes, upstream: text, prices: { input: "10", output: "20" }, times: [{ if: { region: eu }, by: "7" }] }
  nightly: { family: writes, upstream: text, prices: { input: "10", output: "20" }, times: [{ if: { hours: ["22:00-06:00"], zone: UTC }, by: "0.1" }] }
  said: { family: speaks, upstream: text, prices: { character: "1000" } }
  voiced: { family: voices, upstream: text, prices: { character: "1000" } }
  drawn: { family: draws, upstream: text, prices: { 1K: "0.04", input: "10", output: "20" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/audio/speech, operation: audio.speech, dialect: openai }
  - { match: "POST /v1/text-to-speech/{voice}", operation: text-to-speech, dialect: elevenlabs, stream: never }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
`
const usage = { prompt_tokens: 100, completion_tokens: 10 }
const uses = { input: 100, output: 10 }
const unsaid = { size: undefined, quality: undefined, n: undefined, multiplier: '0.5' }
const asked = { messages: [{ role: 'user', content: 'x'.repeat(300) }] }

t.test('an explained request costs what the real one is charged, with every condition and factor', async t => {
  const { plan, upstream, post, settled, charges } = await start(t, { yaml: explained, upstreams: ['text'] })
  upstream.answer({
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
    usage,
  })
  for (const [model, fields, amount, note] of [
    ['plain', {}, '0.2506', undefined],
    ['long', {}, '0.0021', 'the prices for input_above 50 apply'],
    ['fast', {}, '0.0006', undefined],
    ['fast', { service_tier: 'priority' }, '0.0018', 'times 3 for service_tier priority'],
    ['local', {}, '0.0042', 'times 7 for region eu'],
  ] as const) {
    const name = caseName({ model, fields: JSON.stringify(fields) })
    const body = { ...asked, ...fields }
    const { quote, warnings } = await explainRequest(plan, { ...unsaid, model, operation: 'chat', fields: body, uses })
    await (await post('/v1/chat/completions', { model, ...body })).text()
    await settled()
    t.match(await charges(1), [{ amount }], name)
    t.equal(quote?.expected, amount, name)
    if (note !== undefined) t.ok(warnings.includes(note), `${name}: ${warnings.join('; ')}`)
    // The prices, factors and quantities on the lines result in the amount.
    const units = quote?.units ?? []
    const sum = units.reduce((all, { price, per, times, quantity }) => {
      return all + times.reduce((part, by) => part * Number(by), (Number(price) * (quantity ?? 0)) / per)
    }, 0)
    t.equal(sum.toFixed(6), Number(amount).toFixed(6), name)
  }
})

t.test('an explained request has the prices of the time at which it would begin', async t => {
  const { plan } = await start(t, { yaml: explained, upstreams: ['text'] })
  for (const [time, expected] of [
    ['2026-11-28T12:00:00Z', '0.0006'],
    ['2026-11-28T23:00:00Z', '0.00006'],
  ] as const) {
    const request = { ...unsaid, model: 'nightly', operation: 'chat', fields: asked, uses, at: Date.parse(time) }
    t.equal((await explainRequest(plan, request)).quote?.expected, expected, time)
  }
})

t.test('speech is explained by its own text, wherever its request names the model', async t => {
  const started = await start(t, { yaml: explained, upstreams: ['text'] })
  const { folder, upstream, post, settled, charges } = started
  upstream.answer((res: ServerResponse) => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound'))
  const env = { TEXT_URL: upstream.url, TEXT_API_KEY: 'x' }
  for (const [model, path, body] of [
    ['said', '/v1/audio/speech', { model: 'said', voice: 'alloy', input: 'Hello!' }],
    ['voiced', '/v1/text-to-speech/ann', { model_id: 'voiced', text: 'Hello!' }],
  ] as const) {
    const { stdout, stderr } = await runCli({ folder, yaml: explained, env }, 'explain', 'chat', '--model', model)
    t.match(stdout, 'character at 1000.00 for 1,000,000', stderr)
    t.match(stdout, '6 cost 0.006 USD', stderr)
    await (await post(path, body)).text()
    await settled()
    t.match(await charges(1), [{ amount: '0.003' }], `${model}, at the factor of the group`)
  }
})

t.test('an explained image of a tool holds as much as the real one: its tier and its tokens', async t => {
  const { plan, newKey, post, upstream } = await start(t, { yaml: explained, upstreams: ['text'] })
  upstream.answer({
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  const fields = { input: 'a boat', tools: [{ type: 'image_generation' }], max_output_tokens: 1000 }
  const { quote } = await explainRequest(plan, { ...unsaid, model: 'drawn', operation: 'responses', fields })
  const most = Math.round(Number(quote?.at_most) * 1_000_000)
  t.ok(most > 40_000, String(most))
  for (const [budget, status] of [
    [most - 1, 402],
    [most, 200],
  ] as const) {
    const { key } = await newKey({ budget })
    const answer = await post('/v1/responses', { model: 'drawn', ...fields }, { authorization: `Bearer ${key}` })
    t.equal(answer.status, status, `${caseName({ budget })}: ${await answer.text()}`)
  }
})

t.test('explain log says that a request has no charge', async t => {
  const started = await start(t, { simulated: true })
  const answer = await started.post('/v1/moderations', { model: 'sim-moderation', input: 'Hello!' })
  t.equal(answer.status, 200, await answer.text())
  await started.settled()
  const { stdout } = await runCli(started, 'explain', 'log', answer.headers.get('x-request-id') ?? '')
  t.match(stdout, 'charged    nothing; the request has no charge')
})

t.test('explain log shows the exact amount of a rounded item, and why equal requests differ', async t => {
  const started = await start(t, { upstreams: ['text'] })
  const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }]
  started.upstream.answer({ choices, usage: { prompt_tokens: 1, completion_tokens: 4 } })
  for (const amount of ['0.000007', '0.000006']) {
    const answer = await started.post('/v1/chat/completions', { model: 'sim-chat', messages: [] })
    await answer.text()
    await started.settled()
    const { stdout } = await runCli(started, 'explain', 'log', answer.headers.get('x-request-id') ?? '')
    t.match(stdout, '1 input token × 0.50 / 1M = 0.0000005  →', caseName({ amount }))
    t.match(stdout, `charged    ${amount} USD`, caseName({ amount }))
    t.match(
      stdout,
      'rounded together to 0.000001, with the remainder of earlier charges of the key',
      caseName({ amount }),
    )
  }
})
