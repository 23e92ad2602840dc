import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { formatBill } from '../../src/cli/commands/logs.ts'
import { importPrices, replayCharge } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'

const chat = (input: number): object => ({
  litellm_provider: 'text',
  mode: 'chat',
  input_cost_per_token: input,
  output_cost_per_token: 8e-6,
})
const listed = (input: number): string =>
  JSON.stringify({
    'another-1': chat(1e-6),
    'text/chat-listed': chat(input),
    'drawn-1': { mode: 'image_generation', output_cost_per_image: 0.03 },
  })

const yaml = (table: string): string => `version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, token-usage]
families:
  chat: { streams: [chat], forward: { chat: { all: true } }, token-usage: {} }
  image:
    forward: { image.generate: { all: true } }
    image-tier-billing: { tiers: [{ tier: each }], tier_from: [output], otherwise: each }
price_tables: [${JSON.stringify(table)}]
models:
  chat-listed: { family: chat, upstream: text }
  drawn: { family: image, upstream: text, send_as: drawn-1 }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
  - { match: "GET /v1/charges/{id}", operation: charges.get, dialect: openai, serve: charge }
`

t.test("every explanation of a charge by an imported row names the row's file and line", async t => {
  const place = await makeFolder(t)
  const table = place.path('prices.yaml')
  const write = async (input: number): Promise<void> =>
    writeFile(
      table,
      (await importPrices(listed(input), { from: 'litellm', source: 'litellm', asOf: '2026-11-23' })).text,
    )
  const lineOf = async (id: string): Promise<number> =>
    (await readFile(table, 'utf8')).split('\n').findIndex(line => line.includes(`${id}: {`)) + 1
  await write(2e-6)
  const started = await start(t, { yaml: yaml(table), upstreams: ['text'] })
  const { upstream, post, get, charges, gateway, url } = started
  upstream.answer({
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 },
  })
  const ask = () => post('/v1/chat/completions', { model: 'chat-listed', messages: [{ role: 'user', content: 'hi' }] })
  t.equal((await ask()).status, 200)
  const at = `prices.yaml:${await lineOf('text/chat-listed')}`
  const [charge] = await charges()
  t.match(charge, {
    state: 'settled',
    amount: '0.00208',
    lines: [
      { tier: 'input', quantity: 1_000, price: '0.002', at, why: '1000 input tokens × 2.00 / 1M' },
      { tier: 'output', quantity: 10, price: '0.00008', at },
    ],
  })
  t.ok(charge && formatBill(charge).some(line => line.includes(at)), 'the bill names the row')
  t.match(await (await get(`/v1/charges/${charge?.id}`)).json(), { amount: '0.00208' })

  await writeFile(place.path('gateway.yaml'), yaml(table))
  const env = { TEXT_URL: upstream.url, TOLLGATE_STORAGE: `sqlite:${started.folder}/tollgate.db` }
  const shown = await place.runWith(env, 'explain', 'log', charge?.id ?? '')
  t.match(shown.stdout, at, shown.stderr)
  const explained = await place.runWith(
    env,
    'explain',
    'chat',
    '--model',
    'chat-listed',
    '--input-tokens',
    '1000',
    '--output-tokens',
    '10',
  )
  t.match(
    explained.stdout,
    `input at 2.00 for 1,000,000 (prices.yaml:${await lineOf('text/chat-listed')})`,
    explained.stderr,
  )
  const image = await place.runWith(env, 'explain', 'image', '--model', 'drawn')
  t.match(image.stdout, 'each 0.03 USD each', image.stderr)

  const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as { models: readonly object[] }
  t.match(models, [
    {
      name: 'chat-listed',
      units: [
        { unit: 'input', price: '2.00', per: 1_000_000 },
        { unit: 'output', price: '8.00' },
      ],
    },
    { name: 'drawn', tiers: [{ tier: 'each', price: '0.03' }] },
  ])
  const page = await (await fetch(`${url}/pricing?lang=en`)).text()
  t.match(page, 'chat-listed')
  t.notMatch(page, table, 'clients do not see file names')

  upstream.answer({ created: 1, data: [picture(1024, 1024)] })
  t.equal((await post('/v1/images/generations', { model: 'drawn', prompt: 'a boat' })).status, 200)
  t.match((await charges())[0]?.lines, [{ price: '0.03', at: `prices.yaml:${await lineOf('drawn-1')}` }])

  // After a newer table, existing charges stay as they were, and new ones use the new row.
  await write(3e-6)
  t.match(await started.reload([['groups: { default: {} }', 'groups: { default: {} } ']]), { ok: true })
  upstream.answer({
    id: 'c2',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 },
  })
  t.equal((await ask()).status, 200)
  const [newest, , oldest] = await charges()
  t.match([newest?.amount, oldest?.amount], ['0.00308', '0.00208'])
  for (const one of [newest, oldest]) {
    const stored = await gateway.storage.ledger.find(one?.id ?? '')
    t.same(stored && (await replayCharge(stored)), [], one?.amount ?? 'none')
  }
  t.same((await gateway.storage.books.verify()).problems, [])
})
