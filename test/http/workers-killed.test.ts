import t from 'tap'
import { askOnce } from '../harness/ask.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { redisMissing } from '../harness/redis.ts'
import { isAlive, startWorks, until, workersOf } from '../harness/works.ts'

const skip = redisMissing()
const ask = { model: 'alpha-image-2', prompt: 'a boat' }

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
