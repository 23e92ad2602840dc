import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import t from 'tap'
import { guardedLookup } from '../../src/engine/foreign-url.ts'
import { addressOf, Dialler, Pool } from '../../src/engine/upstream/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeCertificate, opensslMissing } from '../harness/certificates.ts'
import { Asked, openClient } from '../harness/upstream-client.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const missing = opensslMissing()

type Greeted = { readonly name: string | false; readonly protocol: string | false; readonly isResumed: boolean }

t.test('[9.3] upstreams are called over TLS', { skip: missing }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-tls-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { cert, key, ca } = await makeCertificate(folder, 'upstream')
  const greeted: Greeted[] = []
  const sockets: TLSSocket[] = []
  let say = (socket: TLSSocket): unknown => socket.write(answer)
  const pems = { cert: await readFile(cert), key: await readFile(key) }
  const server = createServer({ ...pems, ALPNProtocols: ['h2', 'http/1.1'] }, socket => {
    sockets.push(socket)
    const { servername, alpnProtocol } = socket as TLSSocket & { servername: string | false }
    greeted.push({ name: servername, protocol: alpnProtocol ?? false, isResumed: socket.isSessionReused() })
    let text = ''
    socket
      .on('error', () => undefined)
      .on('data', bytes => {
        text += bytes.toString('latin1')
        const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)
        if (text.length < text.indexOf('\r\n\r\n') + 4 + length) return
        text = ''
        say(socket)
      })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const raw = { server, port, sockets }
  const open = (origin: string) => openClient(t, raw, { origin })

  await t.test('an upstream with an untrusted certificate is not called', async t => {
    const { error, told } = await open(`https://localhost:${port}`).answer()
    t.match((error as NodeJS.ErrnoException).code, /SELF_SIGNED|UNABLE_TO_VERIFY|DEPTH_ZERO/)
    t.strictSame(told, ['error'])
  })

  const before = getCACertificates('default')
  setDefaultCACertificates([ca.toString()])
  t.teardown(() => setDefaultCACertificates(before))

  await t.test('by name, and only in HTTP/1.1; a second handshake resumes the session', async t => {
    const client = open(`https://localhost:${port}`)
    greeted.length = 0
    for (let i = 0; i < 3; i++) {
      t.equal((await client.answer({ fresh: true })).body.toString(), '{}', caseName({ i }))
      // The ticket for the next handshake arrives separately.
      await new Promise(resolve => setImmediate(resolve))
    }
    t.strictSame(
      greeted.map(({ name, protocol }) => [name, protocol]),
      Array.from({ length: 3 }, () => ['localhost', 'http/1.1']),
    )
    t.ok(greeted.at(-1)?.isResumed, 'of three the last is a short one')
  })

  await t.test('by address without a name', async t => {
    greeted.length = 0
    t.equal((await open(`https://127.0.0.1:${port}`).answer()).error, undefined)
    t.match(greeted, [{ name: false, protocol: 'http/1.1' }])
  })

  await t.test('in sequence on one connection, with bodies of any length in both directions', async t => {
    const client = open(`https://localhost:${port}`)
    const { length } = sockets
    for (const size of [0, 10, 20_000, 100_000, 5_000_000]) {
      const body = Buffer.alloc(size, 'a')
      say = socket => socket.write(Buffer.concat([Buffer.from(answer.replace('2\r\n\r\n{}', `${size}\r\n\r\n`)), body]))
      const request = await client.answer({ body })
      t.equal(request.error, undefined, caseName({ size }))
      t.ok(request.body.equals(body), caseName({ size }))
    }
    t.equal(sockets.length, length + 1)
  })

  await t.test('an answer that ends with its connection is whole after a TLS close', async t => {
    const client = open(`https://localhost:${port}`)
    say = socket => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')
    const { body, error } = await client.answer()
    t.match([body.toString(), error], ['hello', undefined])
  })

  await t.test('a name is requested unchanged at the address that was checked for it', async t => {
    const client = open(`https://localhost:${port}`)
    const resolved: string[] = []
    const lookup = guardedLookup(
      (name, _options, done) => {
        resolved.push(name)
        done(null, [{ address: resolved.length === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
      },
      () => true,
    )
    greeted.length = 0
    say = socket => socket.write(answer)
    const dialler = new Dialler(addressOf(new URL(`https://localhost:${port}`)), 5_000, client.clock, undefined, lookup)
    const pool = new Pool(dialler, client.deadlines, 1)
    t.teardown(() => pool.close())
    const request = new Asked({}, 'localhost')
    pool.ask(request, client.clock.tick())
    t.equal((await request.over.promise).body.toString(), '{}')
    t.strictSame(resolved, ['localhost'])
    t.match(greeted, [{ name: 'localhost' }])
  })

  await t.test("another name than the certificate's is refused", async t => {
    const client = open(`https://localhost:${port}`)
    const address = addressOf(new URL(`https://localhost:${port}`), 'elsewhere.example:1')
    const pool = new Pool(new Dialler(address, 5_000, client.clock, undefined), client.deadlines, 4)
    t.teardown(() => pool.close())
    const other = new Asked({}, 'elsewhere.example')
    pool.ask(other, client.clock.tick())
    t.match((await other.over.promise).error, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })
})
