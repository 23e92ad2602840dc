import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startWorkers } from '../../src/gateway/workers.ts'
import { silentLog } from '../contract/storage.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite } from '../harness/child.ts'
import { picture } from '../harness/pictures.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { startUpstream } from '../harness/upstream.ts'
import { isAlive, until } from '../harness/works.ts'

const skip = redisMissing()
const ask = { model: 'alpha-image-2', prompt: 'a boat' }

t.test('a hung worker is ended and replaced; until then the gateway reports ready at once', { skip }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-hung-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const upstream = await startUpstream({ created: 1, data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  const redis = await startRedis(t)
  const site = await prepareSite(folder, {
    upstreams: {},
    edit: [{ 'server/workers': 2 }],
  })
  const workers = await startWorkers(site.config, {
    log: { ...silentLog, request: () => undefined, hide: () => undefined, flush: async () => undefined },
    hangMs: 3_000,
    env: {
      ...process.env,
      TOLLGATE_LISTEN: '127.0.0.1:0',
      TOLLGATE_OPS: '127.0.0.1:0',
      TOLLGATE_STORAGE: `sqlite:${site.database}`,
      TOLLGATE_COUNTERS: redis.url,
      ALPHA_URL: upstream.url,
    },
  })
  t.teardown(() => workers.close())
  const { url, opsUrl } = workers.listening
  const [hung = 0, sound = 0] = workers.pids
  process.kill(hung, 'SIGSTOP')
  t.equal((await fetch(`${opsUrl}/readyz`)).status, 200)
  t.ok(isAlive(hung), 'before the one that hangs is ended')
  await until(async () => !workers.pids.includes(hung) && workers.pids.length === 2)
  t.notOk(isAlive(hung))
  t.ok(workers.pids.includes(sound), 'the other one continues')
  await until(async () => (await workers.open()) === 0)
  const answers = await Promise.all(Array.from({ length: 6 }, () => askOnce(url, ask, { key: site.key })))
  t.same([...new Set(answers.map(({ status }) => status))], [200])
})
