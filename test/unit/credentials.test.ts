import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Credential } from '../../src/domain/index.ts'
import { type Signature, type Signer, SigningError, type Unsigned } from '../../src/plugin-api/index.ts'
import { caseName } from '../harness/case-name.ts'
import { type BareOptions, startEngine } from '../harness/engine.ts'

const origin = { file: 'test', line: 1, col: 1 }
const signing: Credential = { kind: 'sign', signer: 'test', options: {}, secrets: ['sign-secret'], origin }

/** One upstream with signed requests, and what its signer received. */
async function startSigned(t: Test, sign: Signer['sign'], more: BareOptions = {}, refused?: () => void) {
  const seen: Unsigned[] = []
  const signer: Signer = {
    sign(request) {
      seen.push(request)
      return sign(request)
    },
    ...(refused && { refused }),
  }
  const bare = await startEngine(t, {
    upstreams: [{ credential: [signing] }],
    signerOf: ({ credential }) => (credential.includes(signing) ? signer : undefined),
    ...more,
  })
  return { ...bare, seen, upstream: bare.upstreams[0] as (typeof bare.upstreams)[number] }
}

const codeOf = async (answer: Response): Promise<unknown> =>
  ((await answer.json()) as { readonly error: { readonly code: unknown } }).error.code

t.test('every credential of a list is sent with a request, and the fixed parameters', async t => {
  const { post, upstreams } = await startEngine(t, {
    upstreams: [
      {
        credential: [
          { kind: 'header', header: 'authorization', value: 'Bearer OURS' },
          { kind: 'header', header: 'x-client', value: 'an-id' },
          { kind: 'query', name: 'key', value: 'a key/+=' },
        ],
        query: { 'api-version': '2025-04-01-preview' },
      },
    ],
  })
  await post('/v1/chat/completions?trace=1&api-version=1999&api%2Dversion=1998&key=CALLER&alt=sse')
  const received = upstreams[0]?.received[0]
  t.equal(received?.url, '/v1/chat/completions?trace=1&alt=sse&api-version=2025-04-01-preview&key=a%20key%2F%2B%3D')
  t.match(received?.headers, { authorization: 'Bearer OURS', 'x-client': 'an-id' })
  await post()
  t.equal(upstreams[0]?.received[1]?.url, '/v1/chat/completions?api-version=2025-04-01-preview&key=a%20key%2F%2B%3D')
})

t.test("any quoted credential is removed from an upstream's answer, compressed or not", async t => {
  const { post, upstreams } = await startEngine(t, {
    upstreams: [
      {
        credential: [
          { kind: 'header', header: 'authorization', value: 'Bearer header-secret' },
          { kind: 'query', name: 'key', value: 'query secret/1' },
        ],
        headers: { 'x-api-key': 'fixed-header-secret', 'x-version': 'version-7' },
        query: { sig: 'fixed-sig-secret', region: 'shown-parameter', token: 'fixed-query-secret' },
      },
    ],
  })
  const reply =
    'header-secret query%20secret%2F1 secret/1 fixed-header-secret fixed-sig-secret fixed-query-secret version-7 shown-parameter'
  for (const packed of [false, true]) {
    upstreams[0]?.answer(res => {
      if (packed) res.writeHead(401, { 'content-encoding': 'gzip' }).end(gzipSync(reply))
      else res.writeHead(401).end(reply)
    })
    const text = await (await post()).text()
    t.notMatch(text, /secret/, caseName({ packed }))
    t.match(text, /version-7 shown-parameter$/, caseName({ packed }))
  }
})

t.test('a signer sees the final request, and its result is sent', async t => {
  const { post, upstream, seen } = await startSigned(
    t,
    ({ headers }) => ({
      headers: { authorization: 'Signed one', 'content-type': headers.at(-1) ?? '' },
      query: { signature: 'a/b' },
    }),
    { upstreams: [{ credential: [{ kind: 'query', name: 'key', value: 'k' }, signing], query: { v: '1' } }] },
  )
  upstream.answer({ ok: true })
  t.equal((await post()).status, 200)
  const [request] = seen
  t.equal(request?.method, 'POST')
  t.equal(request?.url, `${upstream.url}/v1/chat/completions?v=1&key=k`)
  t.equal(await request?.digest(), createHash('sha256').update('{"model":"anything"}').digest('hex'))
  const [received] = upstream.received
  t.equal(received?.url, '/v1/chat/completions?v=1&key=k&signature=a%2Fb')
  t.equal(received?.headers['authorization'], 'Signed one')
  t.equal(received?.rawHeaders.filter(name => name.toLowerCase() === 'content-type').length, 1, 'no line twice')
})

t.test('the digest of a large body is that of the sent bytes', async t => {
  const { post, upstream } = await startSigned(t, async ({ digest }) => ({ headers: { 'x-digest': await digest() } }))
  upstream.answer({ ok: true })
  for (const chars of [10, 300_000, 3_000_000]) {
    await post('/v1/chat/completions', {}, { model: 'anything', text: 'ü'.repeat(chars) })
    const received = upstream.received.at(-1)
    const digest = createHash('sha256')
      .update(received?.body ?? '')
      .digest('hex')
    t.equal(received?.headers['x-digest'], digest, caseName({ chars }))
  }
})

t.test('a streamed body is refused if its digest is signed, and nothing is sent', async t => {
  const { url, upstream, rows, settled } = await startSigned(t, async ({ digest }) => ({
    headers: { 'x-digest': await digest() },
  }))
  const form = new FormData()
  form.set('model', 'anything')
  const answer = await fetch(`${url}/v1/models/anything:edit`, { method: 'POST', body: form })
  t.equal(answer.status, 502)
  t.equal(await codeOf(answer), 'upstream_unsigned')
  await settled()
  t.equal(upstream.received.length, 0)
  t.match(rows, [{ errorCode: 'upstream_unsigned' }])
})

t.test('an upstream whose signer fails counts as failing, and the next is called', async t => {
  const { post, upstreams, engine } = await startSigned(t, () => Promise.reject(new SigningError('no token now')), {
    upstreams: [{ credential: [signing], cooldown: { failures: 2, forMs: 60_000 } }, { priority: 2 }],
  })
  upstreams[1]?.answer({ ok: true })
  for (const i of [0, 1]) t.equal((await post()).status, 200, caseName({ i }))
  t.equal(upstreams[0]?.received.length, 0)
  t.ok(engine.isPaused('upstream-0'))
})

t.test("the client gets a public reason, and for a plugin's fault only its existence", async t => {
  const rows = [
    [
      new SigningError('login.example refused to issue a token, with status 401'),
      'login.example refused to issue a token, with status 401',
    ],
    [new Error('secret key is k-123'), 'its signing plugin failed'],
  ] as const
  for (const [error, why] of rows) {
    for (const isAsync of [true, false]) {
      const { post } = await startSigned(t, () => {
        if (isAsync) return Promise.reject(error)
        throw error
      })
      const answer = await post()
      t.equal(answer.status, 502, caseName({ why, isAsync }))
      const { message } = ((await answer.json()) as { readonly error: { readonly message: string } }).error
      t.equal(
        message,
        `The request could not be signed for the upstream (${why}). Nothing was sent to it.`,
        caseName({ why, isAsync }),
      )
    }
  }
})

t.test('the secrets of a request are removed from its error, and a 401 is reported to its signer', async t => {
  let refusals = 0
  const { post, upstream } = await startSigned(
    t,
    () => ({ headers: { authorization: 'Bearer minted-token-1', 'x-date': 'today-is-public' } }),
    {},
    () => refusals++,
  )
  upstream.answer(res => void res.writeHead(401).end('minted-token-1 sign-secret today-is-public'))
  t.equal(await (await post()).text(), '************** *********** today-is-public')
  upstream.answer(res => void res.writeHead(403).end())
  await post()
  t.equal(refusals, 1)
})

t.test(
  'a client that leaves during the minting of a token ends the request, and nothing is sent afterwards',
  async t => {
    const gate = Promise.withResolvers<Signature>()
    const { url, upstream, settled, seen, rows } = await startSigned(t, () => gate.promise)
    const leaving = new AbortController()
    const asking = fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"anything"}',
      signal: leaving.signal,
    })
    while (seen.length === 0) await new Promise(resolve => setImmediate(resolve))
    leaving.abort()
    await t.rejects(asking)
    await settled()
    gate.resolve({ headers: { authorization: 'late' } })
    await new Promise(resolve => setImmediate(resolve))
    t.equal(upstream.received.length, 0)
    t.equal(rows.length, 1)
  },
)

t.test('the deadline of the answer includes the time for signing', async t => {
  const timeouts = { connectMs: 1_000, firstByteMs: 20, idleMs: 1_000, totalMs: 1_000, afterLeaveMs: 1 }
  const { post, upstream } = await startSigned(t, () => new Promise(() => undefined), {
    upstreams: [{ credential: [signing], timeouts }],
  })
  const answer = await post()
  t.equal(answer.status, 504)
  t.equal(await codeOf(answer), 'upstream_timeout')
  t.equal(upstream.received.length, 0)
})

t.test('a request that needs a signature is never sent unsigned', async t => {
  const { post, upstreams } = await startEngine(t, { upstreams: [{ credential: [signing] }] })
  t.equal((await post()).status, 500, 'that is a fault of ours')
  t.equal(upstreams[0]?.received.length, 0)
})

t.test("a signer's own request is a bounded POST without redirects", async t => {
  const { engine, upstreams } = await startEngine(t)
  const [place] = upstreams
  if (!place) throw new Error('no upstream')
  place.answer((res, { body, headers }) => void res.end(`${String(headers['x-a'])} ${body.toString()}`))
  const ask = { headers: ['x-a', '1'], body: 'a=b' }
  const answer = await engine.post(`${place.url}/token?x=1`, ask)
  t.equal(answer.body.toString(), '1 a=b')
  t.match(place.received[0], { method: 'POST', url: '/token?x=1', headers: { 'content-length': '3' } })
  place.answer(res => void res.writeHead(302, { location: '/elsewhere' }).end())
  await t.rejects(engine.post(`${place.url}/token`, ask), { code: 'upstream_invalid' })
  place.answer(res => void res.end('x'.repeat(70_000)))
  await t.rejects(engine.post(`${place.url}/token`, ask), { code: 'upstream_answer_too_large' })
})

t.test('an assembled body is signed as sent, in memory or not', async t => {
  const text = Buffer.from('a body that a plugin has made')
  for (const whole of [text, undefined]) {
    const { post, upstream } = await startSigned(
      t,
      async ({ digest }) => ({ headers: { 'x-digest': await digest() } }),
      {
        hooks: {
          onForward: (_context, out) => ({
            ...out,
            body: {
              kind: 'composed',
              contentType: 'text/plain',
              bytes: text.length,
              ...(whole && { whole }),
              open: () => Readable.from([text.subarray(0, 5), text.subarray(5)]),
            },
          }),
        },
      },
    )
    upstream.answer({ ok: true })
    t.equal((await post()).status, 200, caseName({ whole: whole !== undefined }))
    const [received] = upstream.received
    t.same(received?.body, text, caseName({ whole: whole !== undefined }))
    t.equal(
      received?.headers['x-digest'],
      createHash('sha256').update(text).digest('hex'),
      caseName({ whole: whole !== undefined }),
    )
  }
})

t.test("secrets of a plugin's requests are removed from its error", async t => {
  const { post, upstream } = await startSigned(t, () => ({ headers: { authorization: 'Bearer minted-token-1' } }), {
    hooks: {
      onAsk: () => async asker => {
        const heard = await asker.ask({ path: '/x', body: { kind: 'none' } })
        return { status: heard.status, headers: { 'content-type': 'text/plain' }, body: heard.body }
      },
    },
  })
  upstream.answer(res => void res.writeHead(403).end('minted-token-1 is not enough'))
  t.equal(await (await post()).text(), '************** is not enough')
})
