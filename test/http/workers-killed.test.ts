import cluster from 'node:cluster'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { closeLost } from '../../src/gateway/close-lost.ts'
import { askOnce } from '../harness/ask.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { redisMissing } from '../harness/redis.ts'
import { figure, isAlive, startWorks, until, workersOf } from '../harness/works.ts'

const skip = redisMissing()
const ask = { model: 'alpha-image-2', prompt: 'a boat' }
const requests =
  /tollgate_requests_total\{operation="image.generate",model="alpha-image-2",status="2xx",outcome="answered"\}/

t.test('killing the supervisor ends its workers, and the next start ends their charges', { skip }, async t => {
  const { site, gateway, url, upstream } = await startWorks(t, 2)
  const reached = Promise.withResolvers<void>()
  upstream.answer(() => reached.resolve())
  const pending = askOnce(url, ask, { key: site.key })
  await reached.promise
  const pids = await workersOf(gateway)
  await gateway.kill()
  t.equal((await pending).status, undefined)
  await until(async () => !pids.some(isAlive))
  const again = site.start()
  t.teardown(() => again.stop())
  upstream.answer({ created: 1, data: [picture(1024, 1024)] })
  t.equal((await askOnce(await again.ready, ask, { key: site.key })).status, 200)
  await again.hears(/charges of a gateway that stopped were recovered/)
  const verified = await runCli(site, 'ledger', 'verify')
  t.equal(verified.code, 0, verified.stderr)
})

t.test('a connection that a worker never accepted is closed when the worker is killed', { skip }, async t => {
  const { site, gateway, url } = await startWorks(t, 2)
  const [frozen = 0] = await workersOf(gateway)
  process.kill(frozen, 'SIGSTOP')
  const pending = Array.from({ length: 4 }, () => askOnce(url, ask, { key: site.key }))
  // Node gives a frozen worker one connection, and the other worker the rest.
  await until(async () => (await figure(gateway, requests)) === 3)
  process.kill(frozen, 'SIGKILL')
  const statuses = (await Promise.all(pending)).map(({ status }) => status)
  t.same(
    statuses.toSorted((a = 600, b = 600) => a - b),
    [200, 200, 200, undefined],
  )
})

t.test('a connection that a closing worker refuses gets the response of another worker', async t => {
  cluster.setupPrimary({ exec: fileURLToPath(new URL('../harness/closing-worker.ts', import.meta.url)), silent: true })
  const workers = [1, 2].map(() => cluster.fork())
  t.teardown(() => workers.map(worker => worker.process.kill()))
  for (const { process } of workers) closeLost(process)
  const [[{ port }] = []] = await Promise.all(workers.map(worker => once(worker, 'listening')))
  const request = () => text(connect(port, '127.0.0.1')).catch((error: NodeJS.ErrnoException) => error.code)
  const [closing, busy] = workers
  closing?.send('close')
  busy?.send('busy')
  await sleep(100)
  for (const [i, answer] of (await Promise.all([request(), request(), request()])).entries())
    t.equal(answer, 'answer', caseName({ i }))
  t.equal(await request(), 'answer')
})
