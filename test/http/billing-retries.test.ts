import OpenAI, { APIError } from 'openai'
import { form } from '../harness/forms.ts'
import { picture, png } from '../harness/pictures.ts'
import { billed, type Shop } from '../harness/shop.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const beta = { model: 'beta-imagine-image', prompt: 'a boat' }
const link = { url: 'https://pictures.test/1.png' }
const key = (value: string) => ({ headers: { 'idempotency-key': value } })

billed(
  'fifty requests with one Idempotency-Key are one upstream call and one charge; the others have to wait [B12]',
  {},
  async (t, shop) => {
    let running = 0
    const gate = Promise.withResolvers<void>()
    shop.upstreams['alpha']?.answer(async res => {
      await gate.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1254, 1254)] }))
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const answer = await shop.ask(alpha, key('one'))
        if (answer.status === 409 && ++running === 49) gate.resolve()
        return answer
      }),
    )
    const [done] = answers.filter(answer => answer.status === 200)
    const waits = answers.filter(answer => answer.status === 409)
    t.equal(waits.length, 49)
    t.match(waits[0]?.headers, { 'retry-after': /^\d+$/ })
    t.match(waits[0]?.json(), { error: { code: 'idempotency_in_progress' } })

    const again = await shop.ask({ prompt: 'a boat', model: 'alpha-image-2' }, key('one'))
    t.match(
      again,
      { status: 200, text: done?.text, headers: { 'idempotent-replayed': 'true' } },
      'afterwards the same answer comes',
    )
    t.match(await shop.ask({ ...alpha, prompt: 'another boat' }, key('one')), {
      status: 422,
      headers: { 'x-should-retry': 'false' },
    })
    const { key: other } = await shop.newKey()
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    t.equal((await shop.ask(alpha, { ...key('one'), key: other })).status, 200, 'another caller’s key is another key')
    t.equal(shop.upstreams['alpha']?.received.length, 2)
    t.equal((await shop.charges(100)).length, 2)
  },
)

billed(
  'a form sent again with another boundary is the same request, one with another file is not [B12]',
  {},
  async (t, shop) => {
    shop.upstreams['beta']?.answer({ data: [link] })
    const send = (image: Buffer, boundary: string) => {
      const { body, contentType } = form({ ...beta, image }, boundary)
      return shop.ask(body, {
        path: '/v1/images/edits',
        headers: { 'content-type': contentType, 'idempotency-key': 'form' },
      })
    }
    const first = await send(png(8, 8), 'boundary-one')
    t.equal(first.status, 200)
    t.match(await send(png(8, 8), 'boundary-two'), {
      status: 200,
      text: first.text,
      headers: { 'idempotent-replayed': 'true' },
    })
    t.equal((await send(png(9, 9), 'boundary-two')).status, 422)
    t.equal(shop.upstreams['beta']?.received.length, 1)
  },
)

billed('an answer too large to store returns its charge, and is never made again [B12]', {}, async (t, shop) => {
  const large = { b64_json: Buffer.concat([png(1254, 1254), Buffer.alloc(900_000)]).toString('base64') }
  shop.upstreams['alpha']?.answer({ data: [large] })
  const first = await shop.ask(alpha, key('large'))
  t.equal(first.status, 200)
  const again = await shop.ask(alpha, key('large'))
  t.match(again, { status: 409, headers: { 'x-should-retry': 'false' } })
  t.match(again.json(), { error: { code: 'already_completed', message: new RegExp(first.id) } })
  t.equal(shop.upstreams['alpha']?.received.length, 1)
})

billed('a request that was refused, or never sent, frees its Idempotency-Key [B12]', {}, async (t, shop) => {
  shop.upstreams['beta']?.answerOnce(res => void res.writeHead(429, { 'retry-after': '7' }).end('{"error":{}}'))
  t.match(await shop.ask(beta, key('again')), { status: 429, headers: { 'retry-after': '7' } })
  shop.upstreams['beta']?.answer({ data: [link] })
  t.equal((await shop.ask(beta, key('again'))).status, 200)
})

billed(
  'a client that left and retries with the same key gets the picture made meanwhile [B12]',
  {},
  async (t, shop) => {
    const left = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    shop.upstreams['alpha']?.answer(async res => {
      arrived.resolve()
      await left.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1254, 1254)] }))
    })
    const gone = shop.ask(alpha, { ...key('left'), leave: arrived.promise })
    await gone
    left.resolve()
    await shop.settled()
    t.match(await shop.ask(alpha, key('left')), { status: 200, headers: { 'idempotent-replayed': 'true' } })
    t.equal(shop.upstreams['alpha']?.received.length, 1)
  },
)

billed('an unknown outcome keeps the Idempotency-Key: a retry makes no second picture [B12]', {}, async (t, shop) => {
  shop.upstreams['alpha']?.answer((_res, _got, req) => void req.socket.resetAndDestroy())
  t.equal((await shop.ask(alpha, key('doubt'))).status, 502)
  await shop.settled()
  t.match((await shop.ask(alpha, key('doubt'))).json(), { error: { code: 'already_completed' } })
  t.equal(shop.upstreams['alpha']?.received.length, 1)
})

/**
 * Every way in which an upstream can fail after it has the request, and whether a picture may have been made but lost.
 */
const json = { 'content-type': 'application/json' }
const body = JSON.stringify({ created: 1, data: [picture(1254, 1254)] })
const failures: readonly {
  readonly name: string
  readonly react: Reaction
  readonly calls: number
  readonly status: number | undefined
  readonly paid?: true
}[] = [
  {
    name: 'it refuses with 500',
    calls: 3,
    status: 500,
    react: res => void res.writeHead(500, json).end('{"error":{"message":"no"}}'),
  },
  { name: 'it refuses with 503', calls: 3, status: 503, react: res => void res.writeHead(503, json).end('{}') },
  { name: 'it never answers', calls: 1, status: 504, react: () => undefined },
  {
    name: 'it resets before its head',
    calls: 1,
    status: 502,
    react: (_res, _got, req) => void req.socket.resetAndDestroy(),
  },
  { name: 'it ends before its head', calls: 1, status: 502, react: (_res, _got, req) => void req.socket.end() },
  {
    name: 'it sends no HTTP',
    calls: 1,
    status: 502,
    react: (_res, _got, req) => void req.socket.end('SSH-2.0-nothing\r\n\r\n'),
  },
  {
    name: 'it resets after a head that says how long the answer is',
    calls: 1,
    status: 502,
    react: res => {
      res.writeHead(200, { ...json, 'content-length': String(body.length) }).flushHeaders()
      setImmediate(() => res.socket?.resetAndDestroy())
    },
  },
  {
    name: 'it resets after a head that does not',
    calls: 1,
    status: 502,
    react: res => {
      res.writeHead(200, json).flushHeaders()
      setImmediate(() => res.socket?.resetAndDestroy())
    },
  },
  {
    name: 'it ends in the middle of the picture',
    calls: 1,
    status: undefined,
    react: res => {
      res.writeHead(200, { ...json, 'content-length': String(body.length) })
      res.write(body.slice(0, -40), () => res.socket?.end())
    },
  },
  {
    name: 'it resets after the first of two pictures',
    calls: 1,
    status: undefined,
    paid: true,
    react: res => {
      res.writeHead(200, json)
      res.write(`${body.slice(0, -2)},{"b64_json":"iVBOR`, () => res.socket?.resetAndDestroy())
    },
  },
  {
    name: 'it answers with half a JSON and calls it whole',
    calls: 1,
    status: undefined,
    react: res => void res.writeHead(200, json).end(body.slice(0, -40)),
  },
  {
    name: 'it answers with what cannot be JSON',
    calls: 1,
    status: 502,
    react: res => void res.writeHead(200, json).end('{"data":[}'),
  },
  {
    name: 'it compresses although that was not asked for',
    calls: 1,
    status: 502,
    react: res => void res.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('x'),
  },
]
const impatient = [[/first_byte: 600s/, 'first_byte: 400ms']] as const

for (const { name, react, calls, status, paid } of failures) {
  billed(
    `the real SDK with its retries makes ${calls === 1 ? 'no second picture' : 'a new attempt'} when the upstream fails after it has the request: ${name} [B13]`,
    { edit: impatient },
    async (t, shop) => {
      shop.upstreams['alpha']?.answer(react)
      const error = await generate(shop, 2)
      t.ok(error instanceof Error, 'the caller sees an error')
      if (status !== undefined)
        t.equal(error instanceof APIError ? error.status : error, status, caseName({ name, react, calls, status }))
      t.equal(shop.upstreams['alpha']?.received.length, calls, caseName({ name, react, calls, status }))
      for (const charge of await shop.charges()) {
        const unpaid = { amount: '0.00', count: 0, state: calls === 1 ? 'needs_review' : 'voided' }
        t.match(
          charge,
          paid ? { amount: '0.04', count: 1, state: 'settled' } : unpaid,
          caseName({ name, react, calls, status }),
        )
      }
    },
  )
}

billed('the real SDK retries after a refused connection, and pays for the final answer [B13]', {}, async (t, shop) => {
  shop.upstreams['alpha']?.answerOnce(
    res => void res.writeHead(429, { ...json, 'retry-after-ms': '1', 'retry-after': '0' }).end('{}'),
  )
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  t.equal(await generate(shop, 2), undefined)
  t.match(await shop.charges(), [
    { state: 'settled', amount: '0.04' },
    { state: 'voided', reason: 'upstream_refused' },
  ])
})

/** The SDK's error, or undefined. */
async function generate(shop: Shop, maxRetries: number): Promise<unknown> {
  const openai = new OpenAI({ baseURL: `${shop.url}/v1`, apiKey: shop.key, maxRetries })
  return openai.images.generate(alpha).then(
    () => undefined,
    (error: unknown) => error,
  )
}

const shared =
  'alpha-image-2: { family: alpha-image, upstreams: [{ upstream: alpha }, { upstream: beta, priority: 2 }],'

billed(
  'an upstream refuses and the next has no room: the charge is void, and the client may retry',
  {
    edit: [{ 'upstreams/beta/concurrency': 1 }, ['alpha-image-2: { family: alpha-image, upstream: alpha,', shared]],
  },
  async (t, shop) => {
    const arrived = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    shop.upstreams['beta']?.answer(async res => {
      arrived.resolve()
      await gate.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [link] }))
    })
    shop.upstreams['alpha']?.answer(res => void res.writeHead(503).end('{}'))
    const other = shop.ask(beta)
    await arrived.promise
    const refused = await shop.ask(alpha)
    t.equal(refused.status, 429)
    t.not(refused.headers['x-should-retry'], 'false')
    gate.resolve()
    t.equal((await other).status, 200)
    await shop.settled()
    t.match(await shop.charges(), [
      { state: 'voided', reason: 'upstream_refused', held: '0.00', amount: '0.00' },
      { state: 'settled' },
    ])
  },
)
