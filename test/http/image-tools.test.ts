import t from 'tap'
import { type LogRecord, parseMoney } from '../../src/index.ts'
import { replayCharge } from '../../src/gateway/replay.ts'
import { png } from '../harness/pictures.ts'
import { allCharges, checkBooks } from '../harness/shop.ts'
import { type Started, start } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'
import { runCli } from '../harness/cli.ts'
import { enterAsAdmin } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const yaml = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams:
  text:
    url: "\${TEXT_URL}"
    credential: { header: authorization, value: "Bearer \${TEXT_API_KEY}" }
pipeline: [auth, size-normalize, image-tier-billing, token-usage]
families:
  draws:
    streams: [responses, chat]
    forward: { responses: { all: true }, chat: { all: true } }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K, long_edge_max: 2048 }, { tier: 4K }]
      tier_from: [output]
      otherwise: 2K
      answers: { responses: output, chat: none }
    token-usage: { image_tools: bill }
  writes:
    streams: [responses]
    forward: { responses: { all: true } }
    token-usage: {}
  unsaid:
    streams: [responses]
    forward: { responses: { all: true } }
    image-tier-billing: { tiers: [{ tier: 1K }], tier_from: [output], otherwise: 1K, answers: { responses: none } }
    token-usage: { image_tools: bill }
models:
  draws-one: { family: draws, upstream: text, prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08", input: "500", output: "1500" } }
  writes-one: { family: writes, upstream: text, prices: { input: "500", output: "1500" } }
  unsaid-one: { family: unsaid, upstream: text, prices: { 1K: "0.02", input: "500", output: "1500" } }
routes:
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: "GET /v1/charges/{id}", operation: charges.get, dialect: openai, serve: charge }
`

const shared = await start(t, { yaml, upstreams: ['text'] })
const tools = [{ type: 'image_generation' }]
const usage = { input_tokens: 10, output_tokens: 20, total_tokens: 30 }
/** 10 × 500 + 20 × 1500 per million. */
const usePrice = '0.035'
const call = (id: string, width: number, height: number) => ({
  id,
  type: 'image_generation_call',
  status: 'completed',
  result: png(width, height).toString('base64'),
})
const answer = (...output: object[]) => ({ id: 'resp_1', object: 'response', status: 'completed', output, usage })

async function ask(started: Started, more: object = {}, key?: string) {
  const res = await started.post(
    '/v1/responses',
    { model: 'draws-one', input: 'a boat', tools, ...more },
    key === undefined ? {} : { authorization: `Bearer ${key}` },
  )
  const text = await res.text().catch(() => 'cut')
  await started.settled()
  const id = res.headers.get('x-request-id') ?? ''
  const { ledger } = started.gateway.storage
  return { status: res.status, text, id, images: await ledger.find(id), use: await ledger.find(`${id}.u`) }
}

const events = (...values: object[]): string => values.map(value => `data: ${JSON.stringify(value)}\n\n`).join('')
const doneEvent = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item })
const streamed =
  (text: string, isCut = false): Reaction =>
  res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(text, () => (isCut ? res.destroy() : res.end()))
  }

t.test('an image made by a tool of a response is billed by its tier, in addition to the tokens [B20]', async t => {
  shared.upstream.answer(answer(call('a', 1254, 1254), { type: 'message', content: [] }))
  const { id, images, status, text, use } = await ask(shared)
  t.equal(status, 200)
  t.same(JSON.parse(text), answer(call('a', 1254, 1254), { type: 'message', content: [] }))
  t.match(images, { state: 'settled', amount: 40_000, lines: [{ tier: '2K', source: 'output', width: 1254 }] })
  t.equal(images?.lines.length, 1)
  t.same(images?.lines[0]?.flags, [])
  t.match(use, { state: 'settled', amount: 35_000, lines: [{ tier: 'input' }, { tier: 'output' }] })
  const [log] = await shared.logs(1)
  t.match(log, {
    id,
    billing: { amount: '0.04', count: 1, tier: '2K' },
    usage: { input_tokens: 10, output_tokens: 20 },
  })
  t.match(log?.billing?.warnings[0], `${id}.u`)
  t.match(log?.use_billing, { state: 'settled', amount: usePrice, lines: [{ tier: 'input' }, { tier: 'output' }] })
  t.match(await (await shared.get(`/v1/charges/${id}`)).json(), { amount: '0.04' })
  t.match(await (await shared.get(`/v1/charges/${id}.u`)).json(), { amount: usePrice })
})

t.test('explain log shows both charges of a request for the id of either', async t => {
  shared.upstream.answer(answer(call('a', 800, 600)))
  const { id } = await ask(shared)
  for (const one of [id, `${id}.u`]) {
    const { stdout, stderr } = await runCli({ folder: shared.folder }, 'explain', 'log', one)
    t.match(stdout, 'charged    0.02 USD, settled', caseName({ one, stderr }))
    t.match(stdout, `charged    ${usePrice} USD, settled`, caseName({ one, stderr }))
    t.match(stdout, `other usage of the request, if it is charged, is charged as ${id}.u`, caseName({ one, stderr }))
  }
})

t.test('exports have both charges of a request, so that their sum equals the ledger', async t => {
  for (const output of [[call('a', 800, 600)], [{ type: 'message', content: [] }]]) {
    shared.upstream.answer(answer(...output))
    await ask(shared)
  }
  shared.upstream.answer(answer({ type: 'message', content: [] }))
  await (await shared.post('/v1/responses', { model: 'writes-one', input: 'a poem' })).arrayBuffer()
  await shared.settled()
  const { storage } = shared.gateway
  const [images] = await storage.journal.list({ limit: 1, model: 'draws-one' })
  await storage.books.refund(`${images?.row.id}.u`, 'somebody', 'late', { amount: 5_000 })
  const { booked } = await storage.books.statement({ from: 0, until: Date.now() + 1 })
  const run = async (format: string) =>
    (await runCli({ folder: shared.folder }, 'logs', '--limit', '999', '--format', format)).stdout.trimEnd().split('\n')
  const [head, ...lines] = (await run('csv')).map(line => line.split(','))
  const micros = (name: string, line: readonly string[]) => parseMoney(line.at(head?.indexOf(name) ?? 0) || '0') ?? NaN
  // These columns are behind all cells that may contain a comma, and are counted from the end.
  const fromEnd = (name: string, line: readonly string[]) =>
    parseMoney(line.at((head?.indexOf(name) ?? 0) - (head?.length ?? 0)) || '0') ?? Number.NaN
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)
  t.equal(sum(lines.map(line => micros('amount', line) + fromEnd('use_amount', line))), booked.charged)
  t.equal(sum(lines.map(line => micros('refunded', line) + fromEnd('use_refunded', line))), 5_000)
  const records = (await run('json')).map(line => JSON.parse(line) as LogRecord)
  const bills = records.flatMap(one => [one.billing, one.use_billing].flatMap(bill => bill ?? []))
  t.equal(sum(bills.map(({ amount }) => parseMoney(amount) ?? Number.NaN)), booked.charged)
  t.ok(records.some(({ use_billing: use }) => use === null) && records.some(({ use_billing: use }) => use !== null))
  t.match((await run('table')).join('\n'), `0.00 USD (voided) + ${usePrice} USD`)
})

t.test('an administrator refunds either charge of a request', async t => {
  shared.upstream.answer(answer(call('a', 1254, 1254)))
  const { id } = await ask(shared)
  const admin = await enterAsAdmin(shared)
  const refund = (of: string, more: object = {}) => admin.post(`/api/logs/${of}/refund`, { reason: 'blurred', ...more })
  t.match(await refund(`${id}.u`, { amount: '0.005' }), {
    status: 200,
    body: {
      billing: { refunded: '0.00' },
      use_billing: { refunded: '0.005' },
      refunds: [],
      use_refunds: [{ amount: '0.005', reason: 'blurred' }],
    },
  })
  t.match(await refund(`${id}.u`, { amount: '0.04', refunded: '0.005' }), {
    status: 409,
    body: { error: { reason: 'refund_left' } },
  })
  t.match(await refund(id), {
    status: 200,
    body: { refunds: [{ amount: '0.04' }], use_refunds: [{ amount: '0.005' }] },
  })
  t.match(await admin.get(`/api/logs/${id}.u`), { status: 200, body: { id } })

  shared.upstream.answer(answer({ type: 'message', content: [] }))
  const res = await shared.post('/v1/responses', { model: 'writes-one', input: 'a poem' })
  await res.arrayBuffer()
  await shared.settled()
  const text = res.headers.get('x-request-id') ?? ''
  t.match(await refund(`${text}.u`), { status: 404 }, 'a request with one charge has no second')
  t.match(await refund(text), { status: 200 })
})

t.test('two images are two items, no image is none: the tokens are charged in either case [B20]', async t => {
  shared.upstream.answer(answer(call('a', 800, 600), call('b', 3000, 2000)))
  const two = await ask(shared, { max_tool_calls: 2 })
  t.match(two.images, { state: 'settled', n: 2, hold: 160_000, amount: 100_000 })
  t.match(two.use, { amount: 35_000 })
  shared.upstream.answer(answer({ type: 'message', content: [] }))
  const none = await ask(shared)
  t.match(none.images, { state: 'voided', reason: 'zero_images', amount: 0, hold: 80_000 })
  t.match(none.use, { state: 'settled', amount: 35_000 })
})

t.test('a stream is billed by its finished images; previews and repetitions are free [B20]', async t => {
  const one = call('a', 1254, 1254)
  const preview = { type: 'response.image_generation_call.partial_image', partial_image_b64: one.result }
  const text = events(preview, doneEvent(one), { type: 'response.completed', response: answer(one) })
  shared.upstream.answer(streamed(text))
  const { images, text: got, use } = await ask(shared, { stream: true })
  t.equal(got, text)
  t.match(images, { state: 'settled', amount: 40_000, lines: [{ tier: '2K' }] })
  t.equal(images?.lines.length, 1)
  t.match(use, { state: 'settled', amount: 35_000 })
})

t.test('usage in a last event larger than 1 MiB is charged [B20]', async t => {
  const one = call('a', 1254, 1254)
  const large = { ...one, result: Buffer.concat([png(1254, 1254), Buffer.alloc(2_000_000)]).toString('base64') }
  shared.upstream.answer(streamed(events(doneEvent(large), { type: 'response.completed', response: answer(large) })))
  const { images, use } = await ask(shared, { stream: true })
  t.match(images, { state: 'settled', amount: 40_000 })
  t.match(use, { state: 'settled', amount: 35_000 })
})

t.test('a stream cut after its image costs that image, and one cut before it nothing [B20]', async t => {
  const one = call('a', 1254, 1254)
  shared.upstream.answer(streamed(events(doneEvent(one)), true))
  const after = await ask(shared, { stream: true })
  t.match(after.images, { state: 'settled', amount: 40_000, delivery: 'partial' })
  t.equal(after.use, undefined)
  const half = events(doneEvent(one)).slice(0, -2)
  shared.upstream.answer(streamed(half, true))
  const before = await ask(shared, { stream: true })
  t.match(before.images, { state: 'needs_review', amount: 0 })
  t.notMatch(before.text, 'IEND')
  t.notOk(before.text.includes(one.result), 'the image was not handed out')
})

t.test('a refusal of the upstream costs nothing [B20]', async t => {
  shared.upstream.answer(res => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{}}'))
  const { images, status, use } = await ask(shared)
  t.equal(status, 400)
  t.match(images, { state: 'voided', amount: 0 })
  t.equal(use, undefined)
})

t.test(
  'a budget too small for the images refuses before the upstream is called, and holds nothing afterwards [B20]',
  async t => {
    const before = shared.upstream.received.length
    const poor = await shared.newKey({ budget: 50_000 })
    t.equal((await ask(shared, {}, poor.key)).status, 402)
    t.equal(shared.upstream.received.length, before)
    shared.upstream.answer(answer(call('a', 1254, 1254)))
    const rich = await shared.newKey({ budget: 10_000_000 })
    const { images, use } = await ask(shared, {}, rich.key)
    t.match(images, { state: 'settled', amount: 40_000 })
    t.match(use, { state: 'settled', amount: 35_000 })
    const keys = await shared.gateway.storage.keys.list({ limit: 1_000 })
    t.match(
      keys.find(key => key.id === rich.id),
      { spent: 75_000, held: 0 },
    )
  },
)

t.test('a request without such a tool has only the charge of its usage [B20]', async t => {
  shared.upstream.answer(answer({ type: 'message', content: [] }))
  const { images, use } = await ask(shared, { tools: [{ type: 'web_search' }] })
  t.match(images, { state: 'settled', amount: 35_000, rule: { kind: 'usage' } })
  t.equal(use, undefined)
  shared.upstream.answer({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 20 } })
  const chat = await shared.post('/v1/chat/completions', { model: 'draws-one', messages: [] })
  await chat.text()
  await shared.settled()
  const charge = await shared.gateway.storage.ledger.find(chat.headers.get('x-request-id') ?? '')
  t.match(charge, { state: 'settled', amount: 35_000, rule: { kind: 'usage' } })
})

t.test('a tool whose images would not be charged is refused, and nothing is sent [B20]', async t => {
  const before = shared.upstream.received.length
  for (const more of [{ model: 'writes-one' }, { model: 'unsaid-one' }]) {
    const { images, status, text, use } = await ask(shared, more)
    t.equal(status, 400, caseName({ more }))
    t.match(JSON.parse(text), { error: { code: 'image_tool_refused', param: 'tools' } }, caseName({ more }))
    t.equal(images, undefined, caseName({ more }))
    t.equal(use, undefined, caseName({ more }))
  }
  // In the background its images would not be visible at all.
  const later = await ask(shared, { background: true })
  t.match([later.status, JSON.parse(later.text)], [501, { error: { code: /^background_/ } }])
  t.equal(shared.upstream.received.length, before)
})

t.test('a configuration that bills tools without tiers, or tiers without prices, is refused [B20]', async t => {
  const noTiers = [['token-usage: {}', 'token-usage: { image_tools: bill }']] as const
  await t.rejects(start(t, { yaml, upstreams: ['text'], edit: noTiers }), /has no tiers for them/)
  const noPrice = [['prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08",', 'prices: { 1K: "0.02",']] as const
  await t.rejects(start(t, { yaml, upstreams: ['text'], edit: noPrice }), /no price for tier 2K/)
})

t.test('after all of them the books agree, and every charge replays [B20]', async t => {
  await shared.settled()
  t.same(await checkBooks(shared.gateway), [])
  const charges = await allCharges(shared.gateway.storage.books)
  t.same(
    charges.flatMap(charge => replayCharge(charge, shared.gateway.plan.plugins.known)),
    [],
  )
})
