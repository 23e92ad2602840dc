import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createKey, rotateKey, type Storage } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { HandClock } from '../harness/request-context.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` })
const settings = { name: 'changed', user: 'ada' } as const
const by = 'the test'

/** Each change that makes a valid key invalid, and the change that makes it valid again. */
const changes: readonly {
  readonly name: string
  readonly status: number
  readonly make: (storage: Storage, id: string) => Promise<unknown>
  readonly mend?: (storage: Storage, id: string) => Promise<unknown>
}[] = [
  {
    name: 'is disabled',
    status: 401,
    make: async ({ keys }, id) => keys.change(id, { status: 'disabled' }, by),
    mend: async ({ keys }, id) => keys.change(id, { status: 'active' }, by),
  },
  {
    name: 'has a user who is disabled',
    status: 401,
    make: async ({ users }) => users.change('ada', { status: 'disabled' }, by),
    mend: async ({ users }) => users.change('ada', { status: 'active' }, by),
  },
  {
    name: 'has expired',
    status: 401,
    make: async ({ keys }, id) => keys.change(id, { expiresAt: 1 }, by),
    mend: async ({ keys }, id) => keys.change(id, { expiresAt: null }, by),
  },
  {
    name: 'may come from elsewhere alone',
    status: 403,
    make: async ({ keys }, id) => keys.change(id, { ips: ['192.0.2.0/24'] }, by),
    mend: async ({ keys }, id) => keys.change(id, { ips: ['127.0.0.0/8', '::1'] }, by),
  },
  {
    name: 'has a group that is not configured',
    status: 403,
    make: async ({ users }) => users.change('ada', { group: 'gone' }, by),
    mend: async ({ users }) => users.change('ada', { group: 'default' }, by),
  },
  { name: 'has another secret', status: 401, make: async (storage, id) => rotateKey(storage, id, 0, by) },
  { name: 'is revoked', status: 401, make: async ({ keys }, id) => keys.revoke(id, by) },
]

async function open(t: Test, options: StartOptions = {}): Promise<Started> {
  const edit = [
    ['pipeline: [auth,', 'pipeline: [{ auth: { bad_keys_per_minute: 10000 } },'],
    [/default: \{ rpm: 60,[^}]*\}/, 'default: { rpm: 1000000 }'],
  ] as const
  const started = await start(t, { upstreams: [], simulated: true, ...options, edit })
  await started.gateway.storage.users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
  return started
}

async function ask({ url }: Started, key: string): Promise<number> {
  const answer = await fetch(`${url}/v1/models`, { headers: bearer(key) })
  await answer.text()
  return answer.status
}

t.test(
  'a key is refused at the next request after this process changed it, and accepted after the fix [A5]',
  async t => {
    const started = await open(t)
    const { storage } = started.gateway
    for (const { name, status, make, mend } of changes) {
      const { key, secret } = await createKey(storage, settings)
      t.equal(await ask(started, secret), 200, caseName({ name, status, make, mend }))
      await make(storage, key.id)
      t.equal(await ask(started, secret), status, name)
      await mend?.(storage, key.id)
      if (mend) t.equal(await ask(started, secret), 200, `${name} no longer`)
    }
  },
)

/** Changes keys through another process and waits until the gateway has noticed. */
async function changeElsewhere(t: Test, started: Started): Promise<void> {
  const elsewhere = await openDatabase({ url: `sqlite:${join(started.folder, 'tollgate.db')}`, role: 'tool' })
  const slowest = { ms: 0 }
  for (const { name, status, make, mend } of changes) {
    const { key, secret } = await createKey(elsewhere, settings)
    t.equal(await ask(started, secret), 200, 'a new key is taken at once')
    for (const [change, wanted] of [
      [make, status],
      [mend, 200],
    ] as const) {
      if (!change) continue
      await change(elsewhere, key.id)
      const since = performance.now()
      while ((await ask(started, secret)) !== wanted) {
        if (performance.now() - since > 15_000) throw new Error(`${name}: not ${wanted} after 15 s`)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      slowest.ms = Math.max(slowest.ms, performance.now() - since)
    }
  }
  t.comment(`the slowest was known after ${Math.round(slowest.ms)} ms; 1000 are promised`)
  await elsewhere.close()
}

t.test('a key changed by another process is refused soon after, and accepted after the fix [A5, SEC-10]', async t => {
  await changeElsewhere(t, await open(t))
})

t.test('the same applies while the counters do not answer [A5]', async t => {
  await changeElsewhere(t, await open(t, { env: { TOLLGATE_COUNTERS: 'redis://127.0.0.1:1' } }))
})

t.test('the old secret of a rotated key is accepted until the overlap ends, the new one also afterwards', async t => {
  const clock = new HandClock()
  const started = await open(t, { clock })
  const { storage } = started.gateway
  const { key, secret: old } = await createKey(storage, settings)
  t.equal(await ask(started, old), 200)
  const rotated = await rotateKey(storage, key.id, 60_000, by)
  const secret = rotated?.secret ?? ''
  t.not(secret, old)
  t.same([await ask(started, old), await ask(started, secret)], [200, 200])
  await started.settled()
  clock.move(59_999)
  t.same([await ask(started, old), await ask(started, secret)], [200, 200])
  await started.settled()
  clock.move(1)
  t.same([await ask(started, old), await ask(started, secret)], [401, 200])
  t.equal(await rotateKey(storage, 'key_none', 0, by), undefined)
})

t.test('a new key removes no other from the cache', async t => {
  const started = await open(t)
  const { keys } = started.gateway.storage
  const { secret } = await createKey(started.gateway.storage, settings)
  t.equal(await ask(started, secret), 200)
  const before = [await keys.revision(), keys.ownChanges()]
  for (let i = 0; i < 5; i++) await createKey(started.gateway.storage, settings)
  t.same([await keys.revision(), keys.ownChanges()], before)
})
