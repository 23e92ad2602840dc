import { randomBytes } from 'node:crypto'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { definePlugin, type Stage } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { picture, png } from '../harness/pictures.ts'
import { readImages } from '../harness/read-images.ts'
import { askOnce, billed, type Shop } from '../harness/shop.ts'
import type { Edits } from '../harness/start.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const json = { 'content-type': 'application/json' }
const after = 'image-tier-billing, token-usage]'

/** An answer with two images of this many bytes of noise: no two pieces are alike. */
function largeAnswer(bytes: number): Buffer {
  const image = () => Buffer.concat([png(1254, 1254), randomBytes(bytes)]).toString('base64')
  return Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: image() }, { b64_json: image() }] }))
}

/** Keeps every chunk that passes, and a copy of its content. */
function keeping(letsGo: boolean): { plugin: ReturnType<typeof definePlugin>; kept: Buffer[]; copies: Buffer[] } {
  const kept: Buffer[] = []
  const copies: Buffer[] = []
  const stage: Stage = {
    letsGo,
    write: chunk => {
      kept.push(chunk)
      copies.push(Buffer.from(chunk))
      return chunk
    },
    end: () => [],
  }
  const plugin = definePlugin({
    name: 'keeping',
    create: () => ({ onReply: (_context, reply) => ({ ...reply, stages: [...reply.stages, stage] }) }),
  })
  return { plugin, kept, copies }
}

function answerWith(shop: Shop, body: Buffer, headers: { readonly [name: string]: string } = {}): void {
  shop.upstreams['alpha']?.answer(res => {
    res.writeHead(200, { ...json, 'content-length': String(body.length), ...headers }).end(body)
  })
}

/** The body of an answer, read by a client that takes some turns of the event loop per chunk. */
async function readIn(shop: Shop, turns: number): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { ...json, authorization: `Bearer ${shop.key}` }
    const sent = request(`${shop.url}/v1/images/generations`, { method: 'POST', agent: false, headers }, resolve)
    sent.on('error', reject).end(JSON.stringify(alpha))
  })
  let text = ''
  for await (const chunk of response.setEncoding('latin1')) {
    text += chunk as string
    for (let turn = 0; turn < turns; turn++) await nextTurn()
  }
  return text
}

const gone = keeping(true)
billed(
  '[13.5] a large piece of an answer is freed once written, if every stage allows it',
  { plugins: [gone.plugin], edit: [[after, 'image-tier-billing, token-usage, keeping]']] },
  async (t, shop) => {
    const body = largeAnswer(1_500_000)
    answerWith(shop, body)
    t.equal((await shop.ask(alpha)).text, body.toString('latin1'))
    await shop.settled()
    t.ok(
      gone.copies.some((copy, i) => copy.length >= 16_384 && gone.kept[i]?.length === 0),
      'pieces that fill their memory have none any more',
    )
    t.ok(gone.kept.every((piece, i) => piece.length === 0 || piece.equals(gone.copies[i] as Buffer)))
  },
)

const held = keeping(false)
billed(
  '[13.5] a stage that does not allow it finds its stored bytes unchanged',
  { plugins: [held.plugin], edit: [[after, 'image-tier-billing, token-usage, keeping]']] },
  async (t, shop) => {
    const body = largeAnswer(1_500_000)
    answerWith(shop, body)
    t.equal((await shop.ask(alpha)).text, body.toString('latin1'))
    await shop.settled()
    t.equal(Buffer.concat(held.kept).equals(body), true)
  },
)

billed('[13.5] an answer stored for its idempotency key is repeated unchanged', {}, async (t, shop) => {
  const body = largeAnswer(300_000)
  answerWith(shop, body)
  const headers = { 'idempotency-key': 'large' }
  const first = await shop.ask(alpha, { headers })
  t.equal(first.text, body.toString('latin1'))
  answerWith(shop, largeAnswer(10))
  const again = await shop.ask(alpha, { headers })
  t.equal(again.headers['idempotent-replayed'], 'true')
  t.equal(again.text, first.text)
})

billed('[13.5] another listener of a request sees all of its body', {}, async (t, shop) => {
  const seen: Buffer[] = []
  const server = createServer((req, res) => {
    shop.gateway.listener(req, res)
    req.on('data', (chunk: Buffer) => seen.push(chunk))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const body = Buffer.from(JSON.stringify({ ...alpha, prompt: randomBytes(300_000).toString('base64') }))
  shop.upstreams['alpha']?.answer({ data: [picture(8, 8)] })
  await askOnce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, body, shop)
  t.equal(Buffer.concat(seen).equals(body), true)
})

billed('[13.5] a compressed answer arrives unchanged', {}, async (t, shop) => {
  const body = largeAnswer(1_500_000)
  const packed = gzipSync(body)
  answerWith(shop, packed, { 'content-encoding': 'gzip', 'content-length': String(packed.length) })
  const { text } = await shop.ask(alpha)
  t.equal(text, body.toString('latin1'))
  shop.overrule(readImages(text))
})

billed('[13.5] eight concurrent clients, some of them slow, each get their own bytes', {}, async (t, shop) => {
  const bodies = Array.from({ length: 8 }, () => largeAnswer(1_000_000))
  let next = 0
  shop.upstreams['alpha']?.answer(res => void res.writeHead(200, json).end(bodies[next++]))
  const texts = await Promise.all(bodies.map((_, i) => readIn(shop, i * 4)))
  t.same(new Set(texts), new Set(bodies.map(body => body.toString('latin1'))))
  shop.overrule(bodies.flatMap(body => readImages(body.toString('latin1'))))
})

/** Keeps the bytes of every JSON body, and a copy of them. */
function keepingBodies(): { plugin: ReturnType<typeof definePlugin>; kept: Buffer[]; copies: Buffer[] } {
  const kept: Buffer[] = []
  const copies: Buffer[] = []
  const plugin = definePlugin({
    name: 'keeping',
    create: () => ({
      onBody: (_context, body) => {
        if (body.kind === 'json') {
          kept.push(body.json.bytes)
          copies.push(Buffer.from(body.json.bytes))
        }
        return body
      },
    }),
  })
  return { plugin, kept, copies }
}

const keepsBodies: Edits = [['pipeline: [auth', 'pipeline: [auth, keeping']]
const twoUpstreams = '{ family: alpha-image, upstreams: [{ upstream: alpha }, { upstream: beta, priority: 2 }],'
const largeRequest = (bytes: number) => ({ ...alpha, prompt: randomBytes(bytes).toString('base64') })

const sent = keepingBodies()
billed(
  '[13.5] the memory of a large JSON body is freed when its request has settled, and not before',
  { plugins: [sent.plugin], edit: keepsBodies },
  async (t, shop) => {
    shop.upstreams['alpha']?.answer({ data: [picture(8, 8)] })
    await shop.ask(largeRequest(400_000))
    await shop.settled()
    t.equal(sent.kept[0]?.length, 0)
    const received = shop.upstreams['alpha']?.received[0]
    t.equal(received?.body.equals(sent.copies[0] as Buffer), true, 'the upstream had all of it')
  },
)

const refused = keepingBodies()
billed(
  '[13.5] a body that one upstream refused reaches the next unchanged',
  {
    plugins: [refused.plugin],
    edit: [...keepsBodies, ['{ family: alpha-image, upstream: alpha,', twoUpstreams]],
  },
  async (t, shop) => {
    const { alpha: first, beta: second } = shop.upstreams
    second?.answer({ data: [picture(8, 8)] })
    for (const isRead of [true, false]) {
      // The first case reads the whole request before refusing it, the second reads nothing of it.
      if (isRead) first?.answerOnce(res => void res.writeHead(503).end())
      else first?.server.prependOnceListener('request', (_req, res) => void res.writeHead(503).end())
      const { status } = await shop.ask(largeRequest(900_000))
      t.equal(status, 200, caseName({ isRead }))
      await shop.settled()
      t.equal(second?.received.at(-1)?.body.equals(refused.copies.at(-1) as Buffer), true, caseName({ isRead }))
    }
  },
)

const unread = keepingBodies()
billed(
  '[13.5] a body that its upstream has not read completely is not freed',
  { plugins: [unread.plugin], edit: keepsBodies },
  async (t, shop) => {
    // Answers after the head alone: the rest of the body exceeds all buffers on the way.
    const server = createServer((_req, res) => void res.writeHead(400, json).end('{"error":{"message":"no"}}'))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close().closeAllConnections())
    const { port } = server.address() as AddressInfo
    await shop.reload([['"${ALPHA_URL:-simulator:alpha}"', `"http://127.0.0.1:${port}"`]])
    await shop.ask(largeRequest(16_000_000))
    await shop.settled()
    t.equal(unread.kept[0]?.equals(unread.copies[0] as Buffer), true)
  },
)
