import { readFile } from 'node:fs/promises'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { type Failover, type FailoverModel, refuseWith, serve, startFailover } from '../harness/failover.ts'
import { systemClock } from '../../src/util/clock.ts'
import { HandTime } from '../harness/hand-time.ts'
import type { Reaction } from '../harness/upstream.ts'

const chat = { messages: [{ role: 'user', content: 'hi' }] }
const operations = {
  chat: { family: 'chat', path: '/v1/chat/completions', body: chat },
  'chat, streamed': { family: 'chat', path: '/v1/chat/completions', body: { ...chat, stream: true } },
  'responses with `web_search`': {
    family: 'chat',
    path: '/v1/responses',
    body: { input: 'hi', tools: [{ type: 'web_search' }] },
  },
  image: { family: 'image', path: '/v1/images/generations', body: { prompt: 'a boat' } },
  'image job': { family: 'job', path: '/v1/images/generations', body: { prompt: 'a boat' } },
} as const
const causes = [408, 429, 500, 502, 503, 504, 529, 'timeout', 'reset', 'connect'] as const
const listed = `retry_on: [${causes.join(', ')}], retry: { backoff: 1ms }`
const policies = { off: '', retry_on: listed, may_pay_twice: `${listed}, may_pay_twice: true` } as const
/** The first upstream, prepared for each cause. */
const placeOf = (cause: (typeof causes)[number]): string =>
  cause === 'timeout' ? 'late' : cause === 'connect' ? 'gone' : 'first'
/** Causes without a sale: refusals that certainly sold nothing, and requests that never arrived. */
const unsold = new Set<unknown>([429, 503, 529, 'connect'])

t.test('repeated calls by cause, operation and policy, and what may have been bought', async t => {
  const models = Object.entries(policies).flatMap(([policy, more]) =>
    (['chat', 'image', 'job'] as const).flatMap(family =>
      ['first', 'late', 'gone'].map(
        (place): FailoverModel => ({
          name: `${family}-${policy}-${place}`,
          family,
          upstreams: [place, 'second'],
          more,
        }),
      ),
    ),
  )
  const { first, second, post, logs, charges } = await startFailover(t, models)
  const hung: (() => void)[] = []
  const rows: string[] = []
  for (const cause of causes)
    for (const [operation, { family, path, body }] of Object.entries(operations)) {
      const cells: string[] = []
      for (const policy of Object.keys(policies)) {
        const before = [first.received.length, postsOf(second)] as const
        const fault: Reaction =
          cause === 'reset'
            ? (_res, _received, req) => void req.socket.destroy()
            : cause === 'timeout'
              ? res => void hung.push(() => res.end())
              : refuseWith(cause as number)
        if (cause !== 'connect') first.answerOnce(fault)
        const answer = await post(path, { model: `${family}-${policy}-${placeOf(cause)}`, ...body })
        await answer.text()
        const failed = unsold.has(cause) ? 0 : first.received.length - before[0]
        const bought = failed + postsOf(second) - before[1]
        const name = caseName({ cause, operation, policy })
        const [record] = await logs(1)
        const [charge] = await charges(1)
        const isServed = answer.status === 200
        t.equal(record?.attempts?.length ?? 1, isServed ? 2 : 1, `${name}: the log lists the requests`)
        t.equal(Number(charge?.amount) > 0, isServed, `${name}: the client is charged for what it got`)
        t.equal(
          charge?.state === 'needs_review',
          !isServed && family !== 'chat' && !unsold.has(cause) && typeof cause !== 'number',
          `${name}: ${charge?.state}`,
        )
        t.equal(
          charge?.lines.length ?? 0,
          !isServed ? 0 : family === 'chat' ? 2 : 1,
          `${name}: each item is charged once`,
        )
        cells.push(`${answer.status}, ${bought}`)
      }
      rows.push(`| ${[typeof cause === 'number' ? cause : `\`${cause}\``, operation, ...cells].join(' | ')} |`)
    }
  for (const end of hung) end()
  const page = await readFile(new URL('../../docs/failover.md', import.meta.url), 'utf8')
  const table = page.split('\n').filter(line => /^\| (?:\d{3}|`\w+`) \| \w/.test(line) && line.split('|').length === 7)
  t.strictSame(table.map(squeeze), rows, 'docs/failover.md has this table')
  if (process.env['TABLE']) t.comment(`\n${rows.join('\n')}`)

  function postsOf({ received }: typeof second): number {
    return received.filter(({ method }) => method === 'POST').length
  }
})

/** A row without the blanks that align columns. */
function squeeze(line: string): string {
  return line.replaceAll(/ +/g, ' ')
}

const all = 'retry_on: [429, 500, 503, timeout, reset, connect]'
/** Requests a conversation with a model. @returns the status, and the answer's text */
async function ask({ post }: Failover, model: string, more: object = {}): Promise<readonly [number, string]> {
  const answer = await post('/v1/chat/completions', { model, ...chat, ...more })
  return [answer.status, await answer.text()]
}
const answersOf = async ({ logs }: Failover): Promise<readonly string[] | undefined> =>
  (await logs(1))[0]?.attempts?.map(({ answer }) => answer)

t.test('all upstreams are tried again, up to `attempts`; log, metrics and charge count one request', async t => {
  const started = await startFailover(t, [
    { name: 'one', family: 'chat', upstreams: ['first'], more: `${all}, retry: { attempts: 3, backoff: 1ms }` },
    {
      name: 'two',
      family: 'chat',
      upstreams: ['first', 'second'],
      more: `${all}, retry: { attempts: 4, backoff: 1ms }`,
    },
    { name: 'pooled', family: 'chat', upstreams: ['pool'], more: `${all}, retry: { backoff: 1ms }` },
    { name: 'never', family: 'chat', upstreams: ['first'], more: `${all}, retry: { attempts: 1 }` },
  ])
  const { first, second, charges, opsUrl, get } = started
  first.answerOnce(refuseWith(500))
  first.answerOnce(refuseWith(500))
  t.equal((await ask(started, 'one'))[0], 200)
  t.strictSame(await answersOf(started), ['500', '500', '200'])
  t.match(await charges(), [{ state: 'settled', lines: [{ tier: 'input' }, { tier: 'output' }] }])
  t.match(await (await fetch(`${opsUrl}/metrics`)).text(), /tollgate_retries_total\{upstream="first",cause="500"\} 2/)

  first.answer(refuseWith(500))
  const [status, text] = await ask(started, 'one')
  t.equal(status, 500)
  t.match(text, 'engine_overloaded', 'the client gets the last response of the upstream')
  t.strictSame(await answersOf(started), ['500', '500', '500'])
  t.equal((await charges()).length, 1, 'nothing is charged for it')

  second.answer(refuseWith(503))
  t.equal((await ask(started, 'two'))[0], 503)
  t.match(await answersOf(started), ['500', '503', '500', '503'])
  t.equal((await ask(started, 'never'))[0], 500)
  t.equal(await answersOf(started), undefined)

  first.answer(serve)
  first.answerOnce(refuseWith(500))
  t.equal((await ask(started, 'pooled'))[0], 200, 'an upstream with several keys is tried again too')
  t.strictSame(await answersOf(started), ['500', '200'])
  first.answerOnce(refuseWith(400))
  t.equal((await ask(started, 'two'))[0], 400, 'an unlisted status is returned')
  t.equal((await get('/v1/charges/none')).status, 404)
})

t.test('a wait lasts for the time in Retry-After, and no request waits longer than `wait_max`', async t => {
  const waits: number[] = []
  const hand = new HandTime()
  const clock = {
    now: hand.now,
    tick: hand.tick,
    sleep: hand.sleep,
    after: (ms: number, run: () => void) => {
      if (ms !== 2_000) return systemClock.after(ms, run)
      waits.push(ms)
      hand.ms += ms
      return systemClock.after(0, run)
    },
    every: (ms: number, run: () => void) => systemClock.every(ms, run),
  }
  const more = `${all}, retry: { backoff: 1ms, wait_max: 5s }`
  const started = await startFailover(
    t,
    [
      ...['first', 'keyed'].map((name): FailoverModel => ({ name, family: 'chat', upstreams: [name], more })),
      { name: 'drawn', family: 'image', upstreams: ['first'], more },
      { name: 'two', family: 'chat', upstreams: ['first', 'second'], more },
    ],
    { clock },
  )
  const { first, second, post } = started
  for (const model of ['first', 'keyed']) {
    waits.length = 0
    first.answerOnce(refuseWith(429, { 'retry-after': '2' }))
    t.equal((await ask(started, model))[0], 200, model)
    t.strictSame(waits, [2_000], `${model} waited once`)
  }
  first.answerOnce(refuseWith(503, { 'retry-after': '2' }))
  const image = await post('/v1/images/generations', { model: 'drawn', prompt: 'a boat' })
  t.equal(image.status, 200, 'unsold requests are repeated without consent, whatever they are')
  await image.text()

  const before = first.received.length
  first.answerOnce(refuseWith(503, { 'retry-after': '30' }))
  second.answerOnce(refuseWith(500))
  t.equal((await ask(started, 'two'))[0], 200)
  t.strictSame(await answersOf(started), ['503', '500', '200'])
  t.equal(first.received.length, before + 1, 'an upstream is not called before its Retry-After')

  first.answerOnce(refuseWith(503, { 'retry-after': '30' }))
  const late = await post('/v1/chat/completions', { model: 'first', ...chat })
  t.equal(late.status, 503)
  t.equal(late.headers.get('retry-after'), '30', 'the client gets the refusal, and waits itself')
  await late.text()
  t.equal(first.received.length, before + 2)
})

t.test('a waiting request ends with its client, is sent at once in a drain, and keeps its deadline', async t => {
  const waiting: (() => void)[] = []
  const clock = {
    ...systemClock,
    after: (ms: number, run: () => void) => {
      if (ms > 400_000 && ms < 600_000) for (const tell of waiting.splice(0)) tell()
      return systemClock.after(ms, run)
    },
  }
  const more = `${all}, retry: { backoff: 10m, wait_max: 10m }`
  const started = await startFailover(
    t,
    [
      { name: 'one', family: 'chat', upstreams: ['first'], more },
      { name: 'brief', family: 'chat', upstreams: ['brief'], more },
      { name: 'hung', family: 'chat', upstreams: ['brief'], more: `${all}, retry: { backoff: 1ms }` },
    ],
    { clock },
  )
  const { first, gateway, url, key, settled, logs } = started
  const waits = () => new Promise<void>(resolve => void waiting.push(resolve))
  const gone = new AbortController()
  first.answerOnce(refuseWith(500))
  const rests = waits()
  const left = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    signal: gone.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'one', ...chat }),
  })
  await rests
  gone.abort()
  await t.rejects(left)
  await settled()
  t.equal(first.received.length, 1, 'nothing is sent for a client that has left')
  t.match(await logs(1), [{ outcome: 'caller_gone' }])

  first.answerOnce(refuseWith(500))
  t.equal((await ask(started, 'brief'))[0], 500, 'no wait goes beyond the deadline of the request')
  t.equal(first.received.length, 2)
  const hung: (() => void)[] = []
  first.answerOnce(refuseWith(500))
  first.answerOnce(res => void hung.push(() => res.end()))
  t.equal((await ask(started, 'hung'))[0], 504, 'all attempts have the time of one')
  for (const end of hung) end()
  await settled()

  first.answerOnce(refuseWith(500))
  const rest = waits()
  const last = ask(started, 'one')
  await rest
  const closed = gateway.close()
  t.equal((await last)[0], 200, 'a drain does not wait for the wait')
  await closed
})

t.test('a stream is requested again only before its first byte is sent', async t => {
  const started = await startFailover(t, [
    { name: 'two', family: 'chat', upstreams: ['keyed', 'second'], more: `${all}, retry: { backoff: 1ms }` },
  ])
  const { first, second, charges } = started
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
  const stream = { 'content-type': 'text/event-stream' }
  first.answerOnce(
    res =>
      void res.writeHead(200, stream).end(event({ error: { message: 'overloaded', code: 500, type: 'server_error' } })),
  )
  const [status, text] = await ask(started, 'two', { stream: true })
  t.equal(status, 200)
  t.match(text, /Hello/)
  t.notMatch(text, /overloaded/)
  t.strictSame(await answersOf(started), ['500', '200'])

  const begun = second.received.length
  first.answerOnce((res, _received, req) => {
    res
      .writeHead(200, stream)
      .write(event({ id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hel' } }] }))
    setImmediate(() => req.socket.destroy())
  })
  await t.resolves(ask(started, 'two', { stream: true }).catch(() => undefined))
  t.equal(await answersOf(started), undefined)
  t.equal(second.received.length, begun, 'the client has the beginning of another answer')
  t.equal((await charges(1))[0]?.state === 'reserved', false)
})
