import { connect as connectTcp, type Socket } from 'node:net'
import t from 'tap'
import type { Connect, Dialled } from '../../src/util/index.ts'
import { modelName, patient, startEngine } from '../harness/engine.ts'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'

/** An upstream that receives a request and does not answer. */
async function startSilent(upstream: Partial<typeof patient>, clock: HandTime) {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const started = await startEngine(t, { clock, upstreams: [{ timeouts: { ...patient, ...upstream } }] })
  started.upstreams[0]?.answer(() => resolve())
  return { ...started, asked }
}

await t.test('the injected clock determines the timeout of an upstream', async t => {
  const clock = new HandTime()
  const { post, asked } = await startSilent({ firstByteMs: 3_600_000, totalMs: 7_200_000 }, clock)
  const asking = post()
  await asked
  clock.pass(3_590_000)
  t.equal(await Promise.race([asking, new Promise(resolve => setImmediate(() => resolve('waits')))]), 'waits')
  clock.pass(10_200)
  t.match(await (await asking).json(), { error: { code: 'upstream_timeout', message: /3600000 ms/ } })
})

await t.test('the injected clock ends the wait for a body', async t => {
  const clock = new HandTime()
  const { url, rows, settled } = await startEngine(t, { clock })
  const { hostname, port } = new URL(url)
  const socket = connectTcp({ host: hostname, port: Number(port) })
  t.teardown(() => socket.destroy())
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`
  // The `100 Continue` shows that the gateway reads the connection.
  socket.write(`${head}expect: 100-continue\r\ncontent-length: 90\r\n\r\n`)
  let answer = ''
  const { promise: refused, resolve: tell } = Promise.withResolvers<void>()
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
    if (answer.startsWith('HTTP/1.1 100')) setImmediate(() => clock.pass(31_000))
    if (/body_too_slow/.test(answer)) tell()
  })
  await refused
  t.match(answer, /HTTP\/1\.1 408 /)
  socket.destroy()
  await settled()
  t.match(rows, [{ status: 408, errorCode: 'body_too_slow' }])
})

await t.test('each gateway creates ids from its own injected sources', async t => {
  const ids = async (): Promise<string | null> => {
    const random = { bytes: (size: number) => Buffer.alloc(size, 5), unit: () => 0.5 }
    const { post } = await startEngine(t, { clock: new HandTime(), random })
    const answer = await post()
    await answer.text()
    return answer.headers.get('x-request-id')
  }
  const [one, two] = [await ids(), await ids()]
  t.match(one, /^req_/)
  t.equal(one, two)
})

await t.test('the injected randomness decides which upstream is called first', async t => {
  for (const [unit, first] of [
    [[0.9, 0.1], 0],
    [[0.1, 0.9], 1],
  ] as const) {
    let drawn = 0
    const random = { bytes: (size: number) => Buffer.alloc(size), unit: () => unit[drawn++ % 2] as number }
    const { post, upstreams } = await startEngine(t, { random, upstreams: [{}, {}] })
    await (await post()).text()
    t.equal(upstreams[first]?.received.length, 1, caseName({ unit, first }))
  }
})

await t.test('the injected connector opens connections to upstreams', async t => {
  const dialled: Dialled[] = []
  const open: Connect = (to, timeoutMs) => {
    dialled.push(to)
    t.equal(timeoutMs, patient.connectMs)
    return new Promise((resolve, reject) => {
      const port = Number(new URL(upstreams[0]?.url ?? '').port)
      const socket: Socket = connectTcp({ host: '127.0.0.1', port }, () => resolve(socket)).once('error', reject)
    })
  }
  const { post, upstreams } = await startEngine(t, { connect: open, upstreams: [{ url: 'http://vendor.example' }] })
  upstreams[0]?.answer({ id: 'one' })
  t.match(await (await post()).json(), { id: 'one' })
  t.match(upstreams[0]?.received, [{ headers: { host: 'vendor.example' } }])
  t.match(upstreams[0]?.received[0]?.json(), { model: modelName })
  t.strictSame(dialled, [{ host: 'vendor.example', port: 80, isEncrypted: false }])
})

await t.test("a connection that the connector cannot open is reported like the engine's own", async t => {
  for (const [code, expected] of [
    ['ECONNREFUSED', 'upstream_unreachable'],
    ['ETIMEDOUT', 'upstream_connect_timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'upstream_connect_timeout'],
  ]) {
    const open: Connect = () => Promise.reject(Object.assign(new Error('no'), { code }))
    const { post } = await startEngine(t, { connect: open, upstreams: [{ url: 'https://vendor.example' }] })
    t.match(await (await post()).json(), { error: { code: expected } }, caseName({ code, expected }))
  }
})
