import t from 'tap'
import type { UpstreamClient, UpstreamResponse, Hooks, PluginResponse } from '../../src/plugin-api/index.ts'
import { modelName, startEngine } from '../harness/engine.ts'

const none = { kind: 'none' } as const

async function textOf({ body }: UpstreamResponse): Promise<string> {
  const pieces: Buffer[] = []
  for await (const chunk of body) pieces.push(chunk)
  return Buffer.concat(pieces).toString()
}

function spoken(status: number, text: string): PluginResponse {
  return {
    status,
    headers: { 'content-type': 'text/plain' },
    body: (async function* () {
      yield Buffer.from(text)
    })(),
  }
}

function asking(converse: (asker: UpstreamClient) => Promise<PluginResponse>): Hooks {
  return { onAsk: () => converse }
}

t.test('a plugin that calls twice combines both into one answer', async t => {
  const hooks = asking(async asker => {
    const [first, second] = await Promise.all([
      asker.ask({ body: none, path: '/one?x=1' }),
      asker.ask({ body: none, path: '/two', method: 'PUT', headers: { 'x-more': 'm' } }),
    ])
    return spoken(200, `${await textOf(first)} ${await textOf(second)}`)
  })
  const { post, upstreams, rows, settled } = await startEngine(t, {
    hooks,
    upstreams: [{ credential: [{ kind: 'header', header: 'x-key', value: 'k' }] }],
  })
  const [upstream] = upstreams
  upstream?.answer((res, { method, url, headers }) =>
    res.end(`${method} ${url} ${String(headers['x-key'])} ${String(headers['x-more'] ?? '-')}`),
  )
  const res = await post()
  t.equal(await res.text(), 'GET /one?x=1 k - PUT /two k m')
  await settled()
  t.match(rows, [{ status: 200, outcome: 'answered', upstream: 'upstream-0' }])
})

t.test(
  'an answer that breaks off before its first byte is an error with the furthest stage of its requests',
  async t => {
    const reached: unknown[] = []
    const hooks: Hooks = {
      ...asking(async asker => {
        await textOf(await asker.ask({ body: none, path: '/one' }))
        throw new Error('the plugin is at its end')
      }),
      onSettle: (_context, { reach }) => void reached.push(reach),
    }
    const { post, faults, settled } = await startEngine(t, { hooks })
    const res = await post()
    t.equal(res.status, 500)
    await settled()
    t.match(faults.join(), 'the plugin is at its end')
    t.strictSame(reached, ['unknown'])
  },
)

t.test('if none of its requests was sent, the next upstream is called', async t => {
  const hooks = asking(async asker => spoken(200, await textOf(await asker.ask({ body: none, path: '/one' }))))
  const closed = 'http://127.0.0.1:9'
  const { post, upstreams } = await startEngine(t, { hooks, upstreams: [{ url: closed }, { priority: 2 }] })
  upstreams[1]?.answer((res, { url }) => res.end(url))
  t.equal(await (await post()).text(), '/one')
})

t.test('a client that leaves ends calls and sleeps', async t => {
  const hooks = asking(async asker => {
    await asker.sleep(3_600_000)
    return spoken(200, 'never')
  })
  const { url, settled } = await startEngine(t, { hooks })
  const leaving = new AbortController()
  const pending = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: modelName }),
    signal: leaving.signal,
  })
  setImmediate(() => setImmediate(() => leaving.abort()))
  await t.rejects(pending)
  await settled()
})

t.test('an address with another origin is not called', async t => {
  const hooks = asking(async asker =>
    spoken(200, await textOf(await asker.ask({ body: none, url: 'https://elsewhere.example/x' }))),
  )
  const { post, upstreams } = await startEngine(t, { hooks })
  const res = await post()
  t.equal(res.status, 502)
  t.match(await res.json(), { error: { code: 'upstream_address_refused' } })
  t.strictSame(upstreams[0]?.received, [])
})

t.test("an address with the upstream's own origin is called unchanged", async t => {
  const { post, upstreams } = await startEngine(t, {
    hooks: asking(async asker => {
      const { body } = await asker.ask({ body: none, path: '/where' })
      const pieces: Buffer[] = []
      for await (const chunk of body) pieces.push(chunk)
      return spoken(200, await textOf(await asker.ask({ body: none, url: Buffer.concat(pieces).toString() })))
    }),
  })
  const [upstream] = upstreams
  upstream?.answer((res, received) => res.end(received.url === '/where' ? `${upstream.url}/there?job=1` : received.url))
  t.equal(await (await post()).text(), '/there?job=1')
})

t.test('an answer is read no faster than its client reads it, and only slightly ahead', async t => {
  let given = 0
  const hooks = asking(async asker => {
    const heard = await asker.ask({ body: none, path: '/much' })
    return {
      status: heard.status,
      headers: { 'content-type': 'text/plain' },
      body: (async function* () {
        for await (const chunk of heard.body) {
          given += chunk.length
          yield chunk
        }
      })(),
    }
  })
  const { post, upstreams } = await startEngine(t, { hooks })
  upstreams[0]?.answer(res => res.end(Buffer.alloc(64 * 1024 * 1024, 0x61)))
  const res = await post()
  const reader = res.body?.getReader()
  await reader?.read()
  for (let i = 0; i < 200; i++) await new Promise(resolve => setImmediate(resolve))
  t.ok(given < 40 * 1024 * 1024, 'most of it has not been taken')
  let bytes = 0
  for (;;) {
    const read = await reader?.read()
    if (!read || read.done) break
    bytes += read.value.length
  }
  t.ok(bytes > 60 * 1024 * 1024, 'and all of it arrives')
})

/** Reads an answer that never ends, and calls `over` when it is cut. */
function endless(over: () => void): Hooks {
  return asking(async asker => {
    const heard = await asker.ask({ body: none, path: '/endless' })
    return {
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: (async function* () {
        try {
          yield* heard.body
        } finally {
          over()
        }
      })(),
    }
  })
}

t.test('[10] the reader of an answer is informed when the client leaves in the middle', async t => {
  const over = Promise.withResolvers<void>()
  const { url, upstreams, settled } = await startEngine(t, { hooks: endless(() => over.resolve()) })
  upstreams[0]?.answer(res => void res.write('something'))
  const leaving = new AbortController()
  const res = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: modelName }),
    signal: leaving.signal,
  })
  await res.body?.getReader().read()
  leaving.abort()
  await settled()
  t.equal(await over.promise, undefined)
})

t.test('[10] the writer of an answer is informed that the client has left', async t => {
  const over = Promise.withResolvers<void>()
  const hooks: Hooks = {
    ...endless(() => over.resolve()),
    onReply() {
      throw new Error('no answer of this')
    },
  }
  const { post, upstreams, settled } = await startEngine(t, { hooks })
  upstreams[0]?.answer(res => void res.write('something'))
  t.equal((await post()).status, 500)
  await settled()
  await over.promise
})

t.test('[10] an unread answer is released with the request', async t => {
  const closed = Promise.withResolvers<void>()
  const hooks = asking(async asker => {
    await asker.ask({ body: none, path: '/unread' })
    return spoken(200, 'something else')
  })
  const { post, upstreams, settled } = await startEngine(t, { hooks })
  upstreams[0]?.answer(res => {
    res.once('close', () => closed.resolve())
    res.write(Buffer.alloc(4 * 1024 * 1024))
  })
  t.equal(await (await post()).text(), 'something else')
  await settled()
  await closed.promise
})
