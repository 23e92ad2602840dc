import t from 'tap'
import { createGateway, createKey } from '../../src/index.ts'
import { editShipped } from '../harness/project.ts'
import { quietLog, type Started } from '../harness/start.ts'
import { startThread } from '../harness/threads.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

t.test('a disk with less than 256 MiB free is reported by readiness, status and the console', async t => {
  const text = await editShipped([])
  const env = {
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:0',
    TOLLGATE_STORAGE: `sqlite:${t.testdir()}/a.db`,
  }
  // A disk that is always too full.
  const small: typeof startThread = (name, data) =>
    startThread(
      name,
      typeof data === 'object' && data !== null && 'diskBytesMin' in data
        ? { ...data, diskBytesMin: Number.MAX_SAFE_INTEGER }
        : data,
    )
  const gateway = await createGateway({ text }, { env, log: quietLog(), startThread: small })
  t.teardown(() => gateway.close())
  const { url, opsUrl } = await gateway.listen()
  const { secret } = await createKey(gateway.storage, { name: 'test', user: 'local' })
  const refused = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }),
  })
  t.equal(refused.status, 503)
  const ready = await fetch(`${opsUrl}/readyz`)
  t.equal(ready.status, 503)
  t.match(await ready.text(), /^not ready: only \d+ MiB are free on the disk\n$/)
  const outside = await fetch(`${url}/readyz`)
  t.strictSame([outside.status, await outside.text()], [503, 'not ready\n'], 'clients do not get the reason')
  t.match(await (await fetch(`${opsUrl}/status`)).json(), {
    ready: false,
    storage: { healthy: false, trouble: /^only \d+ MiB are free on the disk$/ },
  })
  const admin = await enterAsAdmin({ gateway, url } as Started)
  t.match((await admin.get('/api/system')).body, {
    storage: { healthy: false, trouble: /free on the disk/ },
    disk_free: Number,
    disk_min: 256 * 1_048_576,
  })
})
