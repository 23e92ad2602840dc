import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Mailer } from '../../src/events/mail.ts'
import { eventKinds, type FeedEvent, type WebhookConfig } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { HandTime } from '../harness/hand-time.ts'

/** A mail server that records commands, and rejects those that begin with `refuses`. */
async function openPost(t: Test, refuses?: string) {
  const said: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let isLetter = false
    let rest = ''
    socket.write('220 post\r\n')
    socket.on('error', () => undefined)
    socket.on('data', piece => {
      const lines = (rest + piece.toString()).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        said.push(line)
        if (isLetter && line !== '.') continue
        if (isLetter) isLetter = false
        else if (refuses !== undefined && line.startsWith(refuses)) {
          socket.write('550 not here\r\n')
          continue
        }
        if (line === 'DATA') isLetter = true
        socket.write(
          line === 'DATA'
            ? '354 go on\r\n'
            : line.startsWith('EHLO')
              ? '250-post\r\n250 AUTH PLAIN\r\n'
              : line.startsWith('AUTH')
                ? '235 in\r\n'
                : '250 yes\r\n',
        )
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { said, port: (server.address() as AddressInfo).port }
}

const event: FeedEvent = {
  id: 'evt_0000000010000000000000',
  at: Date.UTC(2026, 10, 20),
  kind: 'key.revoked',
  data: { key_id: 'key_1', user: 'ann\r\nBcc: all@example.com', action: 'key.revoke', by: 'bob' },
}
const letter = { from: 'gateway@example.com', to: ['ops@example.com', 'more@example.com'], event }
const plan = (url: string, allowPrivate = true): WebhookConfig => {
  return { name: 'mail', format: 'email', url, secrets: [], kinds: eventKinds, allowPrivate }
}
const signal = new AbortController().signal

await t.test('an e-mail describes the event in one line, and no value becomes a header', async t => {
  const { said, port } = await openPost(t)
  const mailer = new Mailer(systemClock)
  t.same(await mailer.send(plan(`smtp://me:p%40ss@127.0.0.1:${port}`), letter, signal), { kind: 'arrived' })
  const all = said.join('\n')
  for (const line of ['MAIL FROM:<gateway@example.com>', 'RCPT TO:<ops@example.com>', 'RCPT TO:<more@example.com>'])
    t.ok(said.includes(line), line)
  t.ok(said.includes(`AUTH PLAIN ${Buffer.from('\0me\0p@ss').toString('base64')}`))
  t.match(all, /^Subject: Tollgate: key\.revoked$/m)
  t.match(all, /^Message-ID: <evt_0000000010000000000000@tollgate>$/m)
  t.match(all, /^key key_1 of ann {1,2}Bcc: all@example\.com: key\.revoke by bob$/m)
  t.notOk(said.some(line => line.startsWith('Bcc:')))
})

await t.test(
  'a refusal, a missing server and a private address are failures, and reported without the address',
  async t => {
    const { port } = await openPost(t, 'RCPT')
    const mailer = new Mailer(systemClock)
    t.match(await mailer.send(plan(`smtp://127.0.0.1:${port}`), letter, signal), { kind: 'failed', why: /EENVELOPE/ })
    t.match(await mailer.send(plan('smtp://127.0.0.1:9'), letter, signal), {
      kind: 'failed',
      why: /could not be reached/,
    })
    t.match(await mailer.send(plan(`smtp://127.0.0.1:${port}`, false), letter, signal), {
      kind: 'failed',
      why: /public internet/,
    })
    t.match(await mailer.send(plan(`smtp://localhost:${port}`, false), letter, signal), {
      kind: 'failed',
      why: /public internet/,
    })
  },
)

await t.test(
  'a server that never ends its answer gets no letter after the deadline, and its connection is closed',
  async t => {
    const clock = new HandTime()
    const greeted = Promise.withResolvers<Socket>()
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      socket.write('220 post\r\n')
      // The answer to EHLO has no last line.
      socket.once('data', () => socket.write('250-post\r\n', () => greeted.resolve(socket)))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const sent = new Mailer(clock).send(plan(`smtp://127.0.0.1:${port}`), letter, signal)
    const socket = await greeted.promise
    t.teardown(() => {
      socket.destroy()
      server.close()
    })
    const closed = once(socket, 'close')
    clock.pass(15_000)
    t.match(await sent, { kind: 'failed', why: 'no response in 15 s' })
    t.not(await Promise.race([closed, sleep(5_000, 'still open', { ref: false })]), 'still open')
  },
)
