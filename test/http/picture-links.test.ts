import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { fetchPicture, type PictureNetwork } from '../../src/admin/fetch-picture.ts'
import { type Resolve, systemTimers } from '../../src/util/index.ts'
import { png } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, type Visitor } from '../harness/visitor.ts'

t.setTimeout(120_000)

const picture = png(8, 8)
const nobodyLeft = new AbortController().signal
const clock = { after: (ms: number, run: () => void) => systemTimers.after(ms, run) }

/** A foreign server, whose name resolves to this machine. */
async function open(t: Test, answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://pictures.test:${(server.address() as AddressInfo).port}/one.png`
}

const here: Resolve = (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])
/** Treats this machine as a public address. */
const anywhere: PictureNetwork = { resolve: here, isAllowed: () => true }
const fetchFrom = (url: string, network: PictureNetwork = anywhere) => fetchPicture(url, clock, nobodyLeft, network)

t.test("a picture's type comes from its own bytes", async t => {
  const url = await open(t, (_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(picture))
  t.match(await fetchFrom(url), { kind: 'picture', type: 'image/png', body: picture })
})

for (const [name, content] of [
  ['a page', '<!doctype html><script>alert(1)</script>'],
  ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ['nothing', ''],
] as const)
  t.test(`refuses ${name} that claims to be a picture`, async t => {
    const url = await open(t, (_req, res) => res.writeHead(200, { 'content-type': 'image/png' }).end(content))
    t.match(await fetchFrom(url), { kind: 'refused', why: 'it is no picture' })
  })

t.test('follows no redirect', async t => {
  let requests = 0
  const url = await open(t, (req, res) => {
    requests++
    if (req.url === '/secret') return res.end(picture)
    return res.writeHead(302, { location: '/secret' }).end(picture)
  })
  t.match(await fetchFrom(url), { kind: 'refused', why: 'it was answered 302' })
  t.equal(requests, 1)
})

t.test('stops an endless body at its bound', async t => {
  const url = await open(t, (_req, res) => {
    const more = (): void => {
      while (res.write(Buffer.alloc(65_536, 1)));
      res.once('drain', more)
    }
    more()
  })
  t.match(await fetchFrom(url, { ...anywhere, bytesMax: 1_000_000 }), { kind: 'refused', why: 'it is too large' })
})

t.test('abandons an answer that never arrives, or whose client has left', async t => {
  const url = await open(t, () => undefined)
  const atOnce = { after: (_ms: number, run: () => void) => systemTimers.after(0, run) }
  t.match(await fetchPicture(url, atOnce, nobodyLeft, anywhere), { why: 'it took too long' })
  t.match(await fetchPicture(url, clock, AbortSignal.abort(), anywhere), { why: 'the client has left' })
})

t.test("checks a name's address once, when it is dialled, and refuses private networks", async t => {
  let requests = 0
  const url = await open(t, (_req, res) => {
    requests++
    res.end(picture)
  })
  t.match(await fetchFrom(url, { resolve: here }), { kind: 'refused', why: 'it could not be reached' })
  // Rebinding: a name that would resolve differently the second time is resolved only once.
  let questions = 0
  const rebinding: Resolve = (_name, _options, done) =>
    done(null, [{ address: questions++ === 0 ? '127.0.0.1' : '203.0.113.1', family: 4 }])
  t.match(await fetchFrom(url, { resolve: rebinding }), { kind: 'refused' })
  t.equal(questions, 1)
  const both: Resolve = (_name, _options, done) =>
    done(null, [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ])
  t.match(await fetchFrom(url, { resolve: both }), { kind: 'refused' })
  t.equal(requests, 0, 'it was never reached')
})

for (const url of [
  'http://127.0.0.1/x.png',
  'http://[::1]/x.png',
  'http://2130706433/x.png',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:10.0.0.1]/x.png',
  'file:///etc/passwd',
  'data:image/png;base64,AAAA',
  'https://name:word@pictures.example/x.png',
  'https://pictures.example\\@127.0.0.1/x.png',
])
  t.test(`never calls ${url}`, async t => {
    t.match(await fetchPicture(url, clock, nobodyLeft), { kind: 'refused' })
  })

t.test('only a link in an answer of this session is fetched, for that user', async t => {
  const started = await start(t, { upstreams: ['alpha'] })
  const admin = await enterAsAdmin(started)
  const ann = await enterAsUser(started, admin, 'ann')
  const viewer = await enterAsUser(started, admin, 'vic', 'viewer')
  const url = 'http://127.0.0.1:9/drawn.png?signature=1'
  started.upstreams['alpha']?.answer({ created: 1, data: [{ url }] })
  const draw = async (who: Visitor, headers: Record<string, string>) => {
    const { key } = (await who.post('/api/playground/key')).body as { key: string }
    const sent = await started.post(
      '/v1/images/generations',
      { model: 'alpha-image-2', prompt: 'a boat' },
      { authorization: `Bearer ${key}`, ...headers },
    )
    t.match(await sent.json(), { data: [{ url }] }, 'the answer is unchanged')
    await started.settled()
  }
  const show = async (who: Visitor, link = url) => who.get(`/api/playground/picture?url=${encodeURIComponent(link)}`)
  t.equal((await show(admin)).status, 404, 'before it was handed to anybody')
  await draw(admin, {})
  t.equal((await show(admin)).status, 404, 'not at the playground')
  await draw(admin, { 'x-request-id': 'playground-1' })
  // The link is recognised, and the guard refuses the address.
  t.match(await show(admin), { status: 502, code: 'picture_refused' })
  t.notMatch((await show(admin)).text, /127\.0\.0\.1/)
  t.equal((await show(ann)).status, 404, 'of another session')
  t.equal((await show(viewer)).status, 403)
  t.equal((await show(admin, `${url}2`)).status, 404, 'no other link')
  // An API key's requests get no links, whatever id they have.
  const made = (await ann.post('/api/keys', { name: 'own' })).body as { secret: string }
  await (
    await started.post(
      '/v1/images/generations',
      { model: 'alpha-image-2', prompt: 'a boat' },
      { authorization: `Bearer ${made.secret}`, 'x-request-id': 'playground-2' },
    )
  ).text()
  t.equal((await show(ann)).status, 404)
})
