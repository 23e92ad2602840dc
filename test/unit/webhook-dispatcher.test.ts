import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Webhook } from 'standardwebhooks'
import { WebhookDispatcher, waitingMax } from '../../src/events/webhook-dispatcher.ts'
import { Deliveries } from '../../src/events/deliveries.ts'
import { retryMs } from '../../src/events/schedule.ts'
import { eventKinds, type FeedEvent, type WebhookConfig } from '../../src/domain/index.ts'
import { standardBody } from '../../src/events/write-body.ts'
import { openDatabase } from '../harness/database.ts'
import { HandTime } from '../harness/hand-time.ts'
import { openReceiver, type Received, type Receiver } from '../harness/receiver.ts'
import { silentLog } from '../contract/storage.ts'
import { caseName } from '../harness/case-name.ts'

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
const oldSecret = `whsec_${Buffer.from('fedcba9876543210fedcba9876543210').toString('base64')}`

async function open(t: Test, more: Partial<WebhookConfig> = {}) {
  const clock = new HandTime()
  const storage = await openDatabase({ url: 'sqlite::memory:', clock })
  const receiver = await openReceiver()
  const plan: WebhookConfig = {
    name: 'finance',
    format: 'standard',
    url: receiver.url,
    secrets: [secret],
    kinds: eventKinds,
    allowPrivate: true,
    ...more,
  }
  const said: string[] = []
  const log = { ...silentLog, error: (_facts: object, text: string) => void said.push(text) }
  const tries: string[] = []
  const courier = new WebhookDispatcher({
    events: storage.events,
    clock,
    log,
    tried: (_name, how) => void tries.push(how),
  })
  t.teardown(async () => {
    courier.close()
    await storage.close()
    await receiver.close()
  })
  const tell = async (count: number, revision = 'a') => {
    for (let i = 0; i < count; i++)
      await storage.events.add({ kind: 'config.applied', data: { revision: `${revision}${i}` } })
  }
  /** Runs turns as a gateway does, until no delivery is due now. */
  const turn = async () => {
    for (let turns = 1; await courier.turn(plan); turns++) if (turns > 100) throw new Error('it does not end')
  }
  await turn()
  return { storage, receiver, plan, courier, clock, tell, turn, said, tries, events: storage.events }
}

const revisionOf = ({ body }: Received): string => (JSON.parse(body) as { data: { revision: string } }).data.revision
const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers['webhook-id'])

await t.test('messages follow Standard Webhooks: another library accepts them, with either secret', async t => {
  const { receiver, tell, turn, clock } = await open(t, { secrets: [secret, oldSecret] })
  await tell(1)
  await turn()
  const [one] = receiver.received as [Received]
  const {
    'webhook-id': id = '',
    'webhook-timestamp': at = '',
    'webhook-signature': signature = '',
  } = one.headers as {
    readonly [header: string]: string
  }
  t.match(id, /^evt_[0-9a-v]{22}$/)
  t.equal(Number(at), Math.floor(clock.now() / 1_000))
  t.match(one.headers, { 'content-type': 'application/json' })
  t.strictSame(JSON.parse(one.body), {
    type: 'config.applied',
    timestamp: new Date(clock.now()).toISOString(),
    data: { revision: 'a0' },
  })
  // The library's own timestamp check uses the system's clock.
  const now = Date.now
  Date.now = () => clock.now()
  t.teardown(() => (Date.now = now))
  const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature }
  for (const one of [secret, oldSecret]) {
    t.same(
      new Webhook(one).verify(receiver.received[0]?.body ?? '', headers),
      JSON.parse(receiver.received[0]?.body ?? ''),
      caseName({ one }),
    )
    t.throws(() => new Webhook(one).verify(`${receiver.received[0]?.body} `, headers), /./, caseName({ one }))
  }
  t.throws(() => new Webhook(`whsec_${'A'.repeat(32)}`).verify(one.body, headers), 'another secret')
})

await t.test(
  'undelivered events are retried on schedule, under one id, and finally abandoned and reported',
  async t => {
    const { receiver, tell, turn, clock, said, tries, events } = await open(t)
    receiver.answer = () => 500
    await tell(1)
    await turn()
    for (const [i, ms] of retryMs.entries()) {
      t.equal(receiver.received.length, i + 1, caseName({ i, ms }))
      clock.pass(ms - 1)
      await turn()
      t.equal(receiver.received.length, i + 1, `not before ${ms} ms`)
      clock.pass(1)
      await turn()
    }
    t.equal(receiver.received.length, retryMs.length + 1)
    t.equal(new Set(idsOf(receiver)).size, 1)
    t.same(said, ['an event was dropped: its webhook did not accept it'])
    t.equal(tries.at(-1), 'given_up')
    t.match(await events.webhooks.list(), [{ webhook: 'finance', waiting: 0, givenUp: 1 }])
    clock.pass(1_000_000_000)
    await turn()
    t.equal(receiver.received.length, retryMs.length + 1)
  },
)

await t.test('a receiver that asks for more time gets it, and one that redirects is not followed', async t => {
  const { receiver, tell, turn, clock } = await open(t)
  receiver.answer = () => 429
  receiver.headers = { 'retry-after': '60' }
  await tell(1)
  await turn()
  clock.pass(59_999)
  await turn()
  t.equal(receiver.received.length, 1)
  receiver.answer = () => 302
  receiver.headers = { location: `${receiver.url}/else` }
  clock.pass(1)
  await turn()
  t.same(
    receiver.received.map(({ path }) => path),
    ['/told', '/told'],
  )
})

await t.test('a receiver may set the time of the retry as a date', async t => {
  const { receiver, tell, turn, clock } = await open(t)
  receiver.answer = () => 503
  receiver.headers = { 'retry-after': new Date(clock.now() + 60_000).toUTCString() }
  await tell(1)
  await turn()
  clock.pass(59_000)
  await turn()
  t.equal(receiver.received.length, 1)
  clock.pass(1_000)
  await turn()
  t.equal(receiver.received.length, 2)
})

await t.test('one refused event blocks no other', async t => {
  const { receiver, tell, turn, clock } = await open(t)
  receiver.answer = one => (revisionOf(one) === 'a3' ? 500 : 204)
  await tell(20)
  await turn()
  t.equal(new Set(receiver.received.map(revisionOf)).size, 20)
  receiver.answer = () => 204
  clock.pass(5_000)
  await turn()
  t.equal(receiver.received.length, 21)
  t.equal(revisionOf(receiver.received[20] as Received), 'a3')
})

await t.test('a receiver that accepts nothing is reported once, and once when it accepts events again', async t => {
  const { storage, plan, receiver, clock, tell } = await open(t)
  const logged: string[] = []
  const note = (_facts: object, text: string): void => void logged.push(text)
  const log = { ...silentLog, warn: note, info: note }
  // Under another name, no delivery exists yet.
  const refused = { ...plan, name: 'inside', allowPrivate: false }
  const courier = new WebhookDispatcher({ events: storage.events, clock, log, tried: () => undefined })
  t.teardown(() => courier.close())
  await courier.turn(refused)
  t.equal(courier.silence, undefined, 'it has received nothing yet')
  const since = clock.now()
  for (let i = 0; i < 3; i++) {
    await tell(1, `r${i}`)
    await courier.turn(refused)
    clock.pass(1_000)
  }
  t.match(courier.silence, { since, why: /127\.0\.0\.1 is not a public internet address/ })
  t.match(logged, [/does not accept events/])
  t.equal(logged.length, 1)
  t.equal(receiver.received.length, 0)
  await tell(1, 'back')
  clock.pass(60 * 60_000)
  await courier.turn({ ...refused, allowPrivate: true })
  t.equal(courier.silence, undefined)
  t.match(logged[1], /accepts events again/)
})

await t.test('few events are tried for a receiver that is away, and all are sent when it is back', async t => {
  const { receiver, tell, turn, clock, events } = await open(t)
  receiver.answer = () => 503
  await tell(200)
  for (let i = 0; i < 20; i++) {
    await turn()
    clock.pass(2_000)
  }
  const [state] = await events.webhooks.list()
  t.ok((state?.waiting ?? 0) <= waitingMax + 8, `${state?.waiting} wait`)
  receiver.answer = () => 204
  receiver.received.length = 0
  // As long as the longest wait that has begun; then every waiting event is tried at once.
  clock.pass(300_000)
  for (let i = 0; i < 8; i++) {
    await turn()
    clock.pass(2_000)
  }
  t.equal(new Set(receiver.received.map(revisionOf)).size, 200)
  t.match(await events.webhooks.list(), [{ waiting: 0, givenUp: 0 }])
})

await t.test('a delivery without an answer is abandoned after a while, and retried', async t => {
  const { receiver, tell, clock, courier, plan, events } = await open(t)
  receiver.answer = () => 'never'
  await tell(1)
  const turning = courier.turn(plan)
  await receiver.has(1)
  clock.pass(15_000)
  await turning
  const { waiting } = await events.webhooks.due('finance', 1)
  t.equal(waiting, 1)
})

await t.test(
  'a connection whose response never ends is closed after a while, and the event counts as delivered',
  async t => {
    const { tell, clock, plan, events } = await open(t)
    const closed: Promise<unknown>[] = []
    const server = createServer((request, response) => {
      closed.push(once(request.socket, 'close'))
      request.resume()
      response.writeHead(200, { 'content-length': '9' }).write('o')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const one = new WebhookDispatcher({ events, clock, log: silentLog, tried: () => undefined })
    t.teardown(() => {
      one.close()
      server.closeAllConnections()
    })
    await tell(3)
    await one.turn({ ...plan, url: `http://127.0.0.1:${port}/` })
    t.equal(closed.length, 3)
    clock.pass(15_000)
    const late = sleep(5_000, 'still open', { ref: false })
    t.not(await Promise.race([Promise.all(closed), late]), 'still open')
    t.match(await events.webhooks.list(), [{ waiting: 0, givenUp: 0 }])
  },
)

await t.test('a receiver that switches protocols has not accepted the event', async t => {
  const { tell, clock, plan, events } = await open(t)
  const server = createServer().on('connection', (socket: Socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    ),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const one = new WebhookDispatcher({ events, clock, log: silentLog, tried: () => undefined })
  t.teardown(() => {
    one.close()
    server.closeAllConnections()
  })
  await tell(1)
  const late = sleep(5_000, 'no result', { ref: false })
  const { port } = server.address() as AddressInfo
  t.not(await Promise.race([one.turn({ ...plan, url: `http://127.0.0.1:${port}/` }), late]), 'no result')
  t.match(await events.webhooks.list(), [{ waiting: 1, givenUp: 0 }])
})

await t.test('an address of a private network is dialled only if the configuration allows it', async t => {
  for (const host of ['127.0.0.1', '[::1]', 'localhost', '169.254.169.254', '2130706433']) {
    const { receiver, tell, turn, events, plan } = await open(t)
    const { port } = new URL(receiver.url)
    const guarded = { ...plan, url: `http://${host}:${port}/`, allowPrivate: false }
    const one = new WebhookDispatcher({ events, clock: new HandTime(), log: silentLog, tried: () => undefined })
    await tell(1)
    await one.turn(guarded)
    t.equal(receiver.received.length, 0, host)
    one.close()
    const { waiting } = await events.webhooks.due('finance', 1)
    t.equal(waiting, 1, caseName({ host }))
    await turn()
  }
})

await t.test('Slack gets one text in which no name becomes a link or a mention', async t => {
  const { receiver, turn, events } = await open(t, { format: 'slack', secrets: [] })
  await events.add({
    kind: 'key.revoked',
    data: { key_id: 'key_1', user: '<!channel>&', action: 'key.revoke', by: 'bob' },
  })
  await turn()
  t.strictSame(JSON.parse(receiver.received[0]?.body ?? ''), {
    text: '*key.revoked*  key key_1 of &lt;!channel&gt;&amp;: key.revoke by bob',
  })
  // Mattermost reads mentions and links in Markdown. An end user's name comes from a client.
  const money = { spent: '1.00', amount: '1.00', currency: 'USD', percent: 100, renews: null }
  for (const [name, shown] of [
    ['@all', '@\u200Ball'],
    ['.@here', '.@\u200Bhere'],
    ['ada@example.com', 'ada@example.com'],
    ['[log in](https://x.example)', '[log in]\u200B(https://x.example)'],
  ] as const) {
    await events.add({ kind: 'budget.threshold', data: { level: 'end_user', name, user: 'bob', ...money } })
    await turn()
    t.strictSame(
      JSON.parse(receiver.received.at(-1)?.body ?? ''),
      { text: `*budget.threshold*  budget of end_user ${shown}: 100 % is spent, 1.00 of 1.00 USD` },
      caseName({ name }),
    )
  }
})

await t.test('a body stays below 20 kB, whatever its values', t => {
  const event: FeedEvent = {
    id: 'evt_x',
    at: 0,
    kind: 'config.refused',
    data: { findings: Array(200).fill('x'.repeat(300)), reason: 'é'.repeat(30_000), count: 200 },
  }
  const body = standardBody(event)
  t.ok(Buffer.byteLength(body) < 20_000)
  t.match(JSON.parse(body), { type: 'config.refused', data: { count: 200, truncated: true } })
  t.end()
})

await t.test('a slow receiver delays no other, and each has its own kinds and its own position', async t => {
  const { receiver: slow, plan, events, tell, clock } = await open(t)
  const quick = await openReceiver()
  t.teardown(() => quick.close())
  slow.answer = () => 'never'
  const others = { ...plan, name: 'quick', url: quick.url }
  const none = { ...plan, name: 'none', url: quick.url, kinds: ['key.created'] } as const
  const deliveries = new Deliveries({
    events,
    clock,
    log: silentLog,
    receivers: () => new Map([plan, others, none].map(one => [one.name, one])),
  })
  t.teardown(() => deliveries.close())
  const until = async (done: () => boolean | Promise<boolean>) => {
    for (let i = 0; !(await done()); i++) {
      if (i > 2_000) throw new Error('it never came')
      clock.pass(1)
      // The storage has a thread of its own and takes its own time.
      await sleep(2)
    }
  }
  await until(async () => (await events.webhooks.list()).length === 3)
  await tell(30)
  clock.pass(2_000)
  await until(() => quick.received.length >= 30)
  t.equal(new Set(quick.received.map(revisionOf)).size, 30)
  t.equal(quick.received.length, 30)
  t.ok(slow.received.length <= 8, 'no more than are sent at once')
})
