import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { callerAddress, createKey } from '../../src/index.ts'
import { makeCertificate, opensslMissing } from '../harness/certificates.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

/** The name in the certificate that the gateway presents to a client. */
async function shownAt(url: string): Promise<string | undefined> {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

t.test('clients use TLS, and get a new certificate without a restart', { skip: opensslMissing() }, async t => {
  const folder = t.testdir()
  const [one, two] = [await makeCertificate(folder, 'one'), await makeCertificate(folder, 'two')]
  const [cert, key] = [join(folder, 'shown.pem'), join(folder, 'shown.key')]
  await copyFile(one.cert, cert)
  await copyFile(one.key, key)
  const started = await start(t, {
    simulated: true,
    edit: [['\nserver:\n', `\nserver:\n  tls: { cert: ${cert}, key: ${key} }\n`]],
  })
  const { url, gateway, opsUrl } = started
  t.match(url, /^https:/)
  const sent = request(`${url}/v1/models`, { ca: one.ca, headers: { authorization: `Bearer ${started.key}` } })
  sent.end()
  const [answer] = await once(sent, 'response')
  t.equal(answer.statusCode, 200)
  t.match(await text(answer), /alpha-image-2/)
  await t.rejects(fetch(url), 'a client without the authority does not trust it')

  await writeFile(cert, 'no certificate')
  t.match(await gateway.reload(), { ok: true, changes: [/^server\.tls: the old certificate stays in use: /] })
  t.equal(await shownAt(url), 'one')
  await copyFile(two.cert, cert)
  t.match(await gateway.reload(), { changes: [/old certificate stays/] }, 'a key that is of another is none')
  await copyFile(two.key, key)
  t.match(await gateway.reload(), { ok: true, changes: [] })
  t.equal(await shownAt(url), 'two')

  await copyFile(one.key, key)
  await copyFile(one.cert, cert)
  while ((await shownAt(url)) !== 'one') await once(await connectedTo(url), 'close')
  t.pass('files that change are seen by themselves')
  t.equal((await fetch(`${opsUrl}/healthz`)).status, 200, 'operators speak plain HTTP')
})

t.test('a gateway with an unreadable certificate does not start, and reports why', async t => {
  const edit = [['\nserver:\n', '\nserver:\n  tls: { cert: /none.pem, key: /none.key }\n']] as const
  await t.rejects(start(t, { simulated: true, edit }), /\/none\.pem cannot be read: ENOENT/)
  const folder = [['\nserver:\n', '\nserver:\n  tls: { cert: /, key: /none.key }\n']] as const
  await t.rejects(
    start(t, { simulated: true, edit: folder }),
    /: \/ cannot be read: it is not a file|^\/ cannot be read: it is not a file/,
  )
})

/** A connection that closes once the gateway has answered its request. */
async function connectedTo(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => undefined).end('no TLS at all\r\n\r\n')
  return socket.resume()
}

t.test("a client's address is the last one that is not a trusted proxy", async t => {
  const trusted = ['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']
  const cases: readonly (readonly [from: string, forwarded: string | undefined, address: string])[] = [
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '6.6.6.6, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '6.6.6.6, 198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['10.0.0.1', '10.2.3.4', '10.2.3.4'],
    ['10.0.0.1', '198.51.100.1, unknown, 10.2.3.4', '10.2.3.4'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['2001:db8::1', '[2001:db9::7]:443', '2001:db9::7'],
    ['10.0.0.1', '', '10.0.0.1'],
  ]
  for (const [from, forwarded, address] of cases)
    t.equal(callerAddress(from, forwarded, trusted), address, `${from} said ${forwarded}`)
  t.equal(callerAddress('10.0.0.1', '198.51.100.1', undefined), '10.0.0.1')
})

t.test("a key bound to an address is checked by a trusted proxy's header, and by no other client's", async t => {
  const statusWith = async (edit: readonly (readonly [string, string])[]): Promise<number> => {
    const { gateway, url } = await start(t, { simulated: true, edit })
    const { secret } = await createKey(gateway.storage, { name: 'bound', user: 'local', ips: ['198.51.100.0/24'] })
    const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': '198.51.100.7' }
    return (await fetch(`${url}/v1/models`, { headers })).status
  }
  t.equal(await statusWith([]), 403)
  t.equal(await statusWith([['\nserver:\n', '\nserver:\n  trusted_proxies: [127.0.0.0/8]\n']]), 200)
})

t.test('connections beyond the bound are closed; existing ones are served', async t => {
  for (const [word, trusts] of [
    ['connections_max: 3', ''],
    ['connections_per_address: 3', ''],
    ['connections_per_address: 3', '  trusted_proxies: [127.0.0.1]\n'],
  ] as const) {
    const { url, opsUrl, key } = await start(t, {
      simulated: true,
      edit: [['\nserver:\n', `\nserver:\n  ${word}\n${trusts}`]],
    })
    const port = Number(new URL(url).port)
    const kept: Socket[] = []
    for (let i = 0; i < 3; i++) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      kept.push(socket)
    }
    const ask = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`
    const answer = async (socket: Socket): Promise<string> => {
      const reply = Promise.race([once(socket, 'data'), once(socket, 'close')])
      socket.on('error', () => undefined).write(ask)
      return String((await reply)[0])
    }
    t.match(await answer(kept[0] as Socket), /^HTTP\/1\.1 200/, word)
    const fourth = connect(port, '127.0.0.1')
    const admitted = trusts !== ''
    if (admitted) t.match(await answer(fourth), /^HTTP\/1\.1 200/, 'a trusted proxy has as many as it likes')
    else t.notMatch(await answer(fourth), /^HTTP/, 'one more is closed')
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
    t.match(
      metrics,
      new RegExp(`^tollgate_connections_refused_total ${admitted ? 0 : 1}$`, 'm'),
      caseName({ word, trusts }),
    )
    t.match(await answer(kept[1] as Socket), /^HTTP\/1\.1 200/, caseName({ word, trusts }))
    for (const socket of [...kept, fourth]) socket.destroy()
  }
})
