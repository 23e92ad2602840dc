import type { ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Gateway } from '../../src/index.ts'
import { picture } from '../harness/pictures.ts'
import { quietLog, start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const image = { created: 1, data: [picture(1254, 1254)] }
const request = { model: 'alpha-image-2', prompt: 'a boat' }

async function figure(opsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const line = text.split('\n').find(one => one.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

t.test('a storage with failing reads does not affect a charged request, and the metrics are right [6.10]', async t => {
  const { upstream, post, opsUrl, settled, gateway, charges } = await start(t)
  upstream.answer(image)
  const exec = Object.getOwnPropertyDescriptor(DatabaseSync.prototype, 'exec') as PropertyDescriptor
  const { ledger } = gateway.storage
  const sound = { ...ledger }
  let reads = 0
  const broken = (): never => {
    reads++
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
  }
  // Breaks every read of this thread; the writer has a thread of its own.
  DatabaseSync.prototype.exec = broken
  Object.assign(ledger, { find: broken })
  const answer = await post('/v1/images/generations', request)
  t.equal(answer.status, 200)
  await answer.text()
  await settled()
  Object.defineProperty(DatabaseSync.prototype, 'exec', exec)
  Object.assign(ledger, sound)
  t.equal(reads, 0, 'nothing is read on the event loop for the sake of a figure')
  t.equal(await figure(opsUrl, 'tollgate_charges_total{state="settled"}'), 1)
  t.equal(await figure(opsUrl, 'tollgate_charged_micros_total{model="alpha-image-2",currency="USD"}'), 40_000)
  t.equal(await figure(opsUrl, 'tollgate_images_total{model="alpha-image-2",tier="2K",source="output"}'), 1)
  t.match(await charges(), [{ state: 'settled', amount: '0.04' }])
})

t.test('exceptions in journal, log and tracer end no request, and the fault is reported [6.10]', async t => {
  const faults: string[] = []
  const log = {
    ...quietLog(),
    request: () => {
      throw new Error('the pipe is gone')
    },
    error: (_facts: object, text: string) => void faults.push(text),
  }
  const { upstream, post, opsUrl, settled, gateway } = await start(t, { log })
  upstream.answer(image)
  throwAlways(gateway)
  for (let i = 0; i < 3; i++) {
    const answer = await post('/v1/images/generations', request)
    t.equal(answer.status, 200, caseName({ i }))
    await answer.text()
  }
  await settled()
  t.equal(gateway.open, 0)
  t.equal(await figure(opsUrl, 'tollgate_requests_in_flight'), 0)
  t.equal(await figure(opsUrl, 'tollgate_charges_total{state="settled"}'), 3)
  t.ok(faults.some(text => text.includes('observer')))
})

t.test('a log that always throws prevents no request [6.10]', async t => {
  const broken = (): never => {
    throw new Error('no space left on device')
  }
  const log = { ...quietLog(), debug: broken, info: broken, warn: broken, error: broken, request: broken }
  const { upstreams, post, settled, gateway } = await start(t, { log })
  // The upstream fails, and its message is a warning.
  upstreams['text']?.answer((res: ServerResponse) => void res.socket?.destroy())
  const failed = await post('/v1/chat/completions', { model: 'sim-chat', messages: [] })
  t.equal(failed.status, 502)
  upstreams['alpha']?.answer(image)
  const answer = await post('/v1/images/generations', request)
  t.equal(answer.status, 200)
  await answer.text()
  await settled()
  t.equal(gateway.open, 0)
})

/** Makes every call of pure observers fail. */
function throwAlways({ storage, metrics }: Gateway): void {
  const broken = (): never => {
    throw new Error('an observer that is broken')
  }
  Object.assign(storage.journal, { append: broken })
  Object.assign(metrics, { upstreamAnswered: broken, limited: broken, committed: broken })
}

t.test('limit headers follow the injected clock [6.11]', async t => {
  // In the year 2001, with the durations of now.
  const clock = { now: () => 1_000_000_000_000 + Math.round(performance.now()), tick: () => performance.now() }
  const { post, upstreams } = await start(t, { clock })
  upstreams['text']?.answer({ type: 'message', content: [], usage: { input_tokens: 1, output_tokens: 1 } })
  const answer = await post('/v1/messages', { model: 'sim-messages', max_tokens: 10, messages: [] })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('anthropic-ratelimit-requests-reset'), /^2001-09-09T/)
})

t.test('a charge that cannot be read for now returns a retryable error, not an internal one', async t => {
  const faults: string[] = []
  const log = { ...quietLog(), error: (_facts: object, text: string) => void faults.push(text) }
  const { gateway, get } = await start(t, { log })
  Object.assign(gateway.storage.ledger, {
    find() {
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
    },
  })
  const answer = await get('/v1/charges/req_nobody')
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '1')
  t.match(await answer.json(), { error: { code: 'storage_unavailable' } })
  t.same(faults, [])
})
