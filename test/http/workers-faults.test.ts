import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { askOnce } from '../harness/ask.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { redisMissing } from '../harness/redis.ts'
import { figure, isAlive, startWorks, until, workersOf } from '../harness/works.ts'
import { caseName } from '../harness/case-name.ts'

const skip = redisMissing()
const ask = { model: 'alpha-image-2', prompt: 'a boat' }
const requests =
  /tollgate_requests_total\{operation="image.generate",model="alpha-image-2",status="2xx",outcome="answered"\}/

t.test('a killed worker is replaced, and its counts are kept', { skip }, async t => {
  const { site, gateway, url } = await startWorks(t, 2)
  const before = await workersOf(gateway)
  const [victim = 0] = before
  for (let i = 0; i < 6; i++) t.equal((await askOnce(url, ask, { key: site.key })).status, 200, caseName({ i }))
  await until(async () => (await figure(gateway, requests)) === 6)
  process.kill(victim, 'SIGKILL')
  await gateway.hears(/a worker ended; replacing it/)
  t.equal((await askOnce(url, ask, { key: site.key })).status, 200, 'the other one answers meanwhile')
  await until(async () => (await workersOf(gateway)).length === 2)
  t.notOk((await workersOf(gateway)).includes(victim))
  await until(async () => (await figure(gateway, requests)) >= 7)
  t.equal(await figure(gateway, requests), 7)
  t.equal(await figure(gateway, /tollgate_worker_restarts_total/), 1)
})

t.test('a worker that ends before all others have started is replaced', { skip }, async t => {
  // The second worker waits for the file `go`.
  const folder = t.testdir({
    'slow.mjs': `import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
const file = name => new URL(name, import.meta.url)
function enter() {
  try {
    mkdirSync(file('first'))
    writeFileSync(file('first/pid'), String(process.pid))
  } catch {
    while (!existsSync(file('go'))) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
}
export default { name: 'slow', create: () => (enter(), {}) }
`,
  })
  const starting = startWorks(t, 2, [['[./trap.mjs,', `[${join(folder, 'slow.mjs')}, ./trap.mjs,`]])
  const pidOf = () => readFile(join(folder, 'first', 'pid'), 'utf8').catch(() => '')
  await until(async () => (await pidOf()) !== '')
  const victim = Number(await pidOf())
  // Until it listens; nothing reports that yet.
  await sleep(2_000)
  process.kill(victim, 'SIGKILL')
  await until(async () => !isAlive(victim))
  await writeFile(join(folder, 'go'), '')
  const { gateway } = await starting
  await until(async () => (await figure(gateway, /tollgate_worker_restarts_total/)) === 1)
  await until(async () => (await workersOf(gateway)).length === 2)
  t.notOk((await workersOf(gateway)).includes(victim))
})

t.test('an unhandled error ends one worker, but no request of it or of the others [O13]', { skip }, async t => {
  const { site, gateway, url, upstream } = await startWorks(t, 2)
  for (const trap of ['throw', 'reject']) {
    const before = await workersOf(gateway)
    const from = gateway.said().length
    const go = Promise.withResolvers<void>()
    upstream.answer(async res => {
      await go.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
    })
    const seen = upstream.received.length
    const others = Array.from({ length: 4 }, () => askOnce(url, ask, { key: site.key }))
    await until(async () => upstream.received.length === seen + 4)
    const pending = askOnce(url, ask, { key: site.key, headers: { 'x-trap': trap } })
    await gateway.hears(/unhandled error: finishing requests and stopping/, from)
    go.resolve()
    t.same(
      (await Promise.all(others)).map(({ status }) => status),
      [200, 200, 200, 200],
      caseName({ trap }),
    )
    t.ok([200, 503].includes((await pending).status ?? 0), 'the one that did it is answered too')
    await gateway.hears(/a worker ended; replacing it/, from)
    await until(async () => (await workersOf(gateway)).filter(pid => !before.includes(pid)).length === 1)
  }
  await gateway.stop()
  t.equal((await runCli(site, 'ledger', 'verify')).code, 0)
})

t.test('a new worker whose configuration cannot be used does not serve with an earlier one', { skip }, async t => {
  const { site, gateway, url } = await startWorks(t, 2)
  const plugin = join(site.config, '..', 'late.mjs')
  await writeFile(plugin, "export default { name: 'late', create: () => ({}) }\n")
  const text = await readFile(site.config, 'utf8')
  const renamed = text.replace('./trap.mjs,', './trap.mjs, ./late.mjs,').replace('\n  alpha-image-2:', '\n  renamed:')
  await writeFile(site.config, renamed)
  await gateway.hears(/^ {2}model renamed added/m)
  await rm(plugin)
  const [victim = 0] = await workersOf(gateway)
  process.kill(victim, 'SIGKILL')
  await gateway.hears(/a worker could not start/)
  for (let i = 0; i < 6; i++)
    t.equal((await askOnce(url, { ...ask, model: 'renamed' }, { key: site.key })).status, 200, caseName({ i }))
})

t.test('if workers no longer start the gateway exits with 1, and reports why', { skip }, async t => {
  const { site, gateway } = await startWorks(t, 2)
  await writeFile(join(site.folder, 'broken'), '')
  for (const pid of await workersOf(gateway)) process.kill(pid, 'SIGKILL')
  t.equal(await gateway.gone, 1)
  t.match(gateway.said(), /workers cannot be started: .*the trap has snapped/)

  await t.test('a failed first start ends at once', async t => {
    const again = site.start()
    await t.rejects(again.ready)
    t.equal(await again.gone, 1)
    t.match(again.said(), /the trap has snapped/)
  })
})

t.test('a second signal ends every worker at once [O5]', { skip }, async t => {
  const { site, gateway, url, upstream } = await startWorks(t, 2)
  const reached = Promise.withResolvers<void>()
  upstream.answer(() => reached.resolve())
  const pending = askOnce(url, ask, { key: site.key })
  await reached.promise
  const pids = await workersOf(gateway)
  gateway.signal('SIGTERM')
  await gateway.hears(/: finishing 1 request,/)
  gateway.signal('SIGINT')
  t.equal(await gateway.gone, 1)
  t.equal((await pending).status, undefined)
  await until(async () => !pids.some(isAlive))
})
