import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/index.ts'
import { askOnce } from '../harness/ask.ts'
import { type ChildGateway, prepareSite, type Site } from '../harness/child.ts'
import { runCli } from '../harness/cli.ts'
import { form } from '../harness/forms.ts'
import { picture, png } from '../harness/pictures.ts'
import { redisMissing } from '../harness/redis.ts'
import { checkBooks } from '../harness/shop.ts'
import { start } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'
import { startWorks } from '../harness/works.ts'
import { caseName } from '../harness/case-name.ts'

const ask = { model: 'alpha-image-2', prompt: 'a boat' }
const free = [/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 100000, tpm: $1 }'] as const

type Short = { readonly site: Site; readonly gateway: ChildGateway; readonly url: string }

/** A gateway in a process of its own that lacks a resource. */
async function startShort(t: Test, lack: Pick<Parameters<typeof prepareSite>[1], 'by' | 'env'>): Promise<Short> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-short-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream({ created: 1, data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  const site = await prepareSite(folder, { upstreams: { alpha: upstream.url }, edit: [free], ...lack })
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  return { site, gateway, url: await gateway.ready }
}

t.test('256 open files: further clients are refused, and everything recovers when they leave [O12]', async t => {
  const { site, gateway, url } = await startShort(t, { by: ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'] })
  const { hostname, port } = new URL(url)
  const crowd: Socket[] = []
  for (let i = 0; i < 300; i++) {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    crowd.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  }
  const turned = await askOnce(url, ask, { key: site.key })
  t.ok(turned.status === undefined || turned.status >= 500, `one more is turned away: ${turned.status}`)
  for (const socket of crowd) socket.destroy()
  for (;;) if ((await askOnce(url, ask, { key: site.key })).status === 200) break
  await gateway.stop()
  t.equal(await gateway.gone, 0, 'the process has lived through it')
  t.equal((await runCli(site, 'ledger', 'verify')).code, 0)
})

t.test('no disk space for uploads: a large form gets 503, and other requests continue [O12]', async t => {
  const { site, gateway, url } = await startShort(t, { env: { TMPDIR: '/dev/null/nowhere' } })
  const edit = (bytes: number) => {
    const fields = { model: 'alpha-image-2', prompt: 'make it blue' }
    const { body, contentType } = form({ ...fields, image: Buffer.concat([png(64, 64)], bytes) })
    const headers = { 'content-type': contentType }
    return askOnce(url, body, { key: site.key, path: '/v1/images/edits', headers })
  }
  const large = await edit(4 * 1024 * 1024)
  t.equal(large.status, 503)
  t.match(large.json(), { error: { code: 'form_spool_failed' } })
  t.equal((await edit(10_000)).status, 200)
  t.equal((await askOnce(url, ask, { key: site.key })).status, 200)
  await gateway.stop()
  t.equal(await gateway.gone, 0)
})

t.test(
  'an unhandled error: current requests end, the process exits with 1, and the books are valid [O13]',
  { skip: redisMissing() },
  async t => {
    for (const trap of ['throw', 'reject']) {
      const { site, gateway, url, upstream } = await startWorks(t, 1)
      const go = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      upstream.answer(async res => {
        reached.resolve()
        await go.promise
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
      })
      const pending = askOnce(url, ask, { key: site.key })
      await reached.promise
      const culprit = askOnce(url, ask, { key: site.key, headers: { 'x-trap': trap } })
      await gateway.hears(/unhandled error: finishing requests and stopping/)
      go.resolve()
      t.equal((await pending).status, 200, caseName({ trap }))
      await culprit
      t.equal(await gateway.gone, 1, caseName({ trap }))
      t.match(gateway.said(), /nobody catches this/, caseName({ trap }))
      const before = performance.now()
      const next = site.start()
      t.equal((await askOnce(await next.ready, ask, { key: site.key })).status, 200, caseName({ trap }))
      t.comment(`served again ${Math.round(performance.now() - before)} ms after its start`)
      await next.stop()
      t.equal((await runCli(site, 'ledger', 'verify')).code, 0, caseName({ trap }))
    }
  },
)

t.test('a clock in the past, or one that jumps by a day, makes no duration negative [O11]', async t => {
  const day = 86_400_000
  let offset = Date.UTC(2001, 0, 1) - Date.now()
  const clock = { ...systemClock, now: () => systemClock.now() + offset }
  const started = await start(t, { clock, edit: [free] })
  const { upstream, gateway } = started
  upstream.answer({ created: 1, data: [picture(1024, 1024)] })
  const post = async () => (await started.post('/v1/images/generations', ask)).status
  t.equal(await post(), 200, 'in 2001')
  for (const jump of [day, -day, -day]) {
    upstream.answerOnce(res => {
      // The clock jumps during the wait for an answer.
      offset += jump
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
    })
    t.equal(await post(), 200, `by ${jump / day} days`)
    t.equal(await post(), 200, 'and after that')
  }
  const logs = await started.logs()
  t.equal(logs.length, 7)
  t.ok(
    logs.every(log => log.duration_ms >= 0 && log.duration_ms < day / 2),
    'durations are those of a watch',
  )
  t.ok((await started.charges()).every(charge => charge.state === 'settled'))
  t.strictSame(await checkBooks(gateway), [])
})
