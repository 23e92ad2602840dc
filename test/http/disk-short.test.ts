import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createGateway, createKey } from '../../src/index.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite } from '../harness/child.ts'
import { onFreePort } from '../harness/free-port.ts'
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

t.test('a gateway whose log is on a full disk continues, and ends when it should', async t => {
  const folder = t.testdir()
  await onFreePort(async port => {
    const site = await prepareSite(folder, {
      upstreams: {},
      edit: [{ 'groups/default/rpm': 100_000 }],
      by: ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh'],
      env: { TOLLGATE_LISTEN: `127.0.0.1:${port}` },
    })
    const gateway = site.start()
    t.teardown(() => gateway.kill())
    const url = `http://127.0.0.1:${port}`
    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    while (gateway.isThere() && !(await isReady())) await sleep(50)
    const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
    for (let i = 0; i < 150; i++) await askOnce(url, chat, { key: site.key, path: '/v1/chat/completions' })
    // The log is flushed each second.
    await sleep(2_500)
    t.equal((await askOnce(url, chat, { key: site.key, path: '/v1/chat/completions' })).status, 200)
    await gateway.stop()
    t.equal(await gateway.gone, 0)
  })
})
