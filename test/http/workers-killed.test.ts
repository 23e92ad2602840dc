import t from 'tap'
import { askOnce } from '../harness/ask.ts'
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
