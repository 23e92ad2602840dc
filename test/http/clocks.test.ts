import t from 'tap'
import type { LogFilter } from '../../src/domain/index.ts'
import { systemRandom } from '../../src/util/index.ts'
import { createKey } from '../../src/index.ts'
import { Tails } from '../../src/admin/tail.ts'
import { Telemetry } from '../../src/observe/otlp/telemetry.ts'
import { HandClock, KeptLog, someExchange } from '../harness/request-context.ts'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { logRow } from '../contract/storage.ts'
import { caseName } from '../harness/case-name.ts'

const day = 86_400_000
const far = 400 * day
const images = '/v1/images/generations'
const boat = { model: 'alpha-image-2', prompt: 'a boat' }

for (const jump of [far, -far])
  await t.test(`[6.7] serves a request during which the clock jumps by ${jump / day} days and back`, async t => {
    const clock = new HandClock()
    const { gateway, upstreams, post, get, settled } = await start(t, {
      clock,
      edit: [[/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 6, tpm: $1 }']],
    })
    const { storage } = gateway
    const budget = { budget: 100_000, budgetPeriod: 'day' } as const
    const { key, secret } = await createKey(storage, { name: 'daily', user: 'local', ...budget })
    const auth = { authorization: `Bearer ${secret}` }
    const draw = (headers = {}) => post(images, boat, { ...auth, ...headers })
    const alpha = upstreams['alpha']
    const answer = { data: [picture(1254, 1254)] }
    alpha?.answer(answer)

    t.equal((await draw()).status, 200)
    alpha?.answer(res => {
      clock.jump(jump)
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    t.equal((await draw({ 'idempotency-key': 'during' })).status, 200, 'the request itself notices nothing')
    await settled()
    clock.jump(-jump)
    alpha?.answer(answer)

    t.equal((await draw({ 'idempotency-key': 'during' })).status, 200, 'the same answer once more')
    t.match(await storage.keys.find(key.id), { spent: 2 * 40_000, held: 0 }, 'and not bought again')
    t.equal((await draw()).status, 200)
    t.equal((await draw()).status, 402, 'by the right day one was bought before, and one after')
    t.match(await storage.keys.find(key.id), { spent: 3 * 40_000, held: 0 })
    // A write in progress would immediately seem a day late.
    await settled()
    await storage.flush()
    clock.move(day)
    const next = await draw()
    t.equal(next.status, 200, 'the next day is whole')
    const id = String(next.headers.get('x-request-id'))
    t.equal((await get(`/v1/charges/${id}`, auth)).status, 200)
    await settled()
    const now = clock.now()
    const rows = await storage.journal.list({ limit: 10, since: now - 1_000, until: now + 2_000 })
    t.ok(
      rows.some(({ row }) => row.id === id),
      'and stands at its own time in the log',
    )
    t.ok(rows.length <= 2, 'apart from the query for its charge')
    t.same((await storage.books.verify()).problems, [])
    t.ok(gateway.ready)
  })

t.test('[6.7] a tail begun by a clock ahead shows requests that end after the clock is right', async t => {
  const clock = new HandClock()
  const right = clock.now()
  clock.jump(far)
  const filters: LogFilter[] = []
  const journal = {
    async list(filter: LogFilter) {
      filters.push(filter)
      return [{ row: logRow({ time: right }), charge: null }]
    },
  }
  const user = { name: 'ada', role: 'admin' }
  const session = { hash: 'x', user: 'ada', seenAt: right }
  const plan = () => ({ plugins: { known: new Map() } })
  const parts = { clock, plan, storage: { journal, sessions: { find: async () => ({ user, session }) } } }
  const left = new AbortController()
  t.teardown(() => left.abort())
  const events = new Tails().follow(
    { headers: {}, left: left.signal, parts, sessionUser: { user, session } } as never,
    {},
  )
  const rows = events[Symbol.asyncIterator]()
  t.match(await rows.next(), { value: /following/ })
  clock.jump(-far)
  t.match(await rows.next(), { value: /^event: log/ })
  t.ok((filters[0]?.endedFrom ?? Infinity) <= right)
})

t.test('[6.7] exported metrics begin before they end, whatever clock jumps since the start', async t => {
  const sent: { readonly resourceMetrics: readonly object[] }[] = []
  const clock = new HandClock()
  const plan = {
    endpoint: 'http://127.0.0.1:9',
    headers: {},
    everyMs: day,
    forwardTraceparent: false,
    attributes: new Set<never>(),
  }
  const telemetry = new Telemetry(
    { ...plan, traces: false, metrics: true },
    { clock, random: systemRandom, log: new KeptLog(), version: '0' },
  )
  t.teardown(() => telemetry.close())
  const { fetch } = globalThis
  t.teardown(() => void (globalThis.fetch = fetch))
  globalThis.fetch = async (_url, init) => {
    sent.push(JSON.parse(init?.body as string) as (typeof sent)[number])
    return new Response('{}')
  }
  telemetry.ended(logRow(), someExchange())
  clock.jump(-far)
  await telemetry.flush()
  const points = JSON.stringify(sent).matchAll(/"startTimeUnixNano":"(\d+)","timeUnixNano":"(\d+)"/g)
  const spans = [...points]
  t.ok(spans.length > 0)
  for (const [, from, to] of spans) t.ok(BigInt(from ?? 1) <= BigInt(to ?? 0), caseName({ from, to }))
})
