import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createSecret, hashSecret, hintOfSecret, networkOf, readSecret, secretPattern } from '../../src/index.ts'
import { listHas, readAddressList } from '../../plugins/auth/address.ts'
import { BadKeyLog } from '../../plugins/auth/bad-key-log.ts'
import { auth } from '../../plugins/auth/plugin.ts'
import { callerSlot, type Key, type KeyChanges, type KeyStore, type Stores } from '../../src/domain/index.ts'
import type { RequestContext } from '../../src/plugin-api/index.ts'
import type { Awaitable } from '../../src/util/index.ts'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { openDatabase } from '../harness/database.ts'
import {
  HandClock,
  KeptLog,
  refusalOf,
  someExchange,
  someGroup,
  someHost,
  someKey,
  somePlan,
  someTarget,
} from '../harness/request-context.ts'
import { caseName } from '../harness/case-name.ts'

/** Keys in a Map that records how it was called. `answer` decides the result of a lookup. */
class MapKeys
  implements
    Pick<KeyStore, 'findByHash' | 'hasForeign' | 'revision' | 'changesSince' | 'ownChanges' | 'ownChangesSince'>
{
  readonly rows = new Map<string, Key>()
  /** The ids that increased the revision, in order. */
  readonly changed: string[] = []
  lookups = 0
  answer: (key: Key | undefined) => Awaitable<Key | undefined> = key => key
  #revision = 1
  failing = false

  isForeign = false
  foreignAsked = 0

  hasForeign(): boolean {
    this.foreignAsked++
    return this.isForeign
  }

  findByHash(hash: string): Awaitable<Key | undefined> {
    this.lookups++
    return this.answer(this.rows.get(hash))
  }
  /** Reports every change as one of another process. */
  ownChanges(): number {
    return 0
  }

  ownChangesSince(): KeyChanges {
    return { keys: new Set(), users: new Set() }
  }

  changesSince(revision: number): KeyChanges {
    return { keys: new Set(this.changed.slice(revision - 1)), users: new Set() }
  }

  revision(): number {
    if (this.failing) throw new Error('disk I/O error')
    return this.#revision
  }
  put(secret: string, key: Key): void {
    this.rows.set(hashSecret(secret), key)
    this.changed.push(key.id)
    this.#revision++
  }
}

function setUp(t: Test, keys: MapKeys = new MapKeys(), badKeysPerMinute = 20) {
  const clock = new HandClock()
  const log = new KeptLog()
  const plan = somePlan([someGroup(), someGroup({ name: 'partner' })])
  // The plugin uses no other store.
  const stores = { keys } as unknown as Stores
  const hooks = auth.create({ bad_keys_per_minute: badKeysPerMinute }, someHost({ stores, clock, log, plan }))
  t.teardown(() => hooks.close?.())
  const secret = createSecret()
  return {
    keys,
    clock,
    log,
    plan,
    hooks,
    secret,
    /** Sends the head of a request through the plugin and returns the exchange. */
    ask: async (headers: RequestContext['head']['headers'], remote = '192.0.2.1'): Promise<RequestContext> => {
      const context = someExchange({ plan, headers, remote })
      await hooks.onRequest?.(context)
      return context
    },
  }
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

t.test('a key is sk- and a secret of 256 random bits with a checksum', async t => {
  const secrets = Array.from({ length: 2000 }, createSecret)
  t.ok(secrets.every(secret => /^sk-[0-9A-Za-z]{49}$/.test(secret)))
  t.ok(secrets.every(secret => readSecret(secret) === secret))
  t.ok(secrets.every(secret => secretPattern.test(secret)))
  t.equal(new Set(secrets).size, 2000)
  const counts = new Map<string, number>()
  for (const secret of secrets) for (const char of secret.slice(3, 46)) counts.set(char, (counts.get(char) ?? 0) + 1)
  // 86,000 draws of 62: the mean is 1,387, and a deviation of 8 σ practically never occurs.
  t.equal(counts.size, 62)
  t.ok([...counts.values()].every(count => Math.abs(count - 1387) < 300))
})

t.test('a key with one character changed is invalid', async t => {
  const secret = createSecret()
  for (let i = 3; i < secret.length; i++) {
    const other = secret[i] === 'a' ? 'b' : 'a'
    t.equal(readSecret(secret.slice(0, i) + other + secret.slice(i + 1)), undefined, caseName({ i }))
  }
})

t.test('the hint of a key shows its first characters and its last four', async t => {
  const secret = createSecret()
  t.match(hintOfSecret(secret), /^sk-.{4}….{4}$/)
  t.ok(secret.endsWith(hintOfSecret(secret).slice(-4)))
})

t.test('a key is stored as its SHA-256', async t => {
  t.equal(hashSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

t.test('a key is accepted as a bearer token and as x-api-key, in the spellings that clients use', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  for (const headers of [
    { authorization: `Bearer ${secret}` },
    { authorization: `bearer ${secret}` },
    { authorization: `BEARER   ${secret}  ` },
    { 'x-api-key': secret },
    { authorization: `Bearer ${secret}`, 'x-api-key': secret },
  ]) {
    const context = await ask(headers)
    t.equal(context.slots.need(callerSlot).key.id, 'key_1', JSON.stringify(Object.keys(headers)))
  }
})

t.test('an impossible key is 401 without a storage look-up', async t => {
  const { keys, secret, ask } = setUp(t, new MapKeys(), 1000)
  keys.put(secret, someKey())
  const flipped = secret.slice(0, -1) + (secret.endsWith('a') ? 'b' : 'a')
  const cases: readonly RequestContext['head']['headers'][] = [
    {},
    { authorization: '' },
    { authorization: 'Bearer ' },
    { authorization: 'Bearer' },
    { 'x-api-key': '' },
    { authorization: `Basic ${secret}` },
    { authorization: `Bearer ${secret}, Bearer ${secret}` },
    { authorization: `Bearer ${secret},${secret}` },
    { 'x-api-key': `${secret} ${secret}` },
    { authorization: `Bearer ${secret}${'a'.repeat(10_000)}` },
    { authorization: `Bearer sk-${'é'.repeat(49)}` },
    { authorization: `Bearer ${flipped}` },
    { authorization: `Bearer ${hashSecret(secret)}` },
    { authorization: `Bearer ' OR 1=1 --` },
  ]
  for (const headers of cases) {
    const failure = await refusalOf(() => ask(headers))
    t.match(failure, { status: 401, code: 'invalid_api_key' }, JSON.stringify(headers).slice(0, 60))
    t.notMatch(failure.message, secret.slice(3, 20), caseName({ headers }))
  }
  t.equal(keys.lookups, 0)
})

t.test('a key of another gateway is looked up only if such keys were imported', async t => {
  const { keys, clock, ask } = setUp(t, new MapKeys(), 1000)
  const foreign = `sk-${'x'.repeat(48)}`
  keys.put(foreign, someKey())
  for (let i = 0; i < 3; i++)
    t.match(await refusalOf(() => ask(bearer(foreign))), { code: 'invalid_api_key' }, caseName({ i }))
  t.same([keys.lookups, keys.foreignAsked], [0, 1], 'whether any exist is checked from time to time')
  keys.isForeign = true
  clock.move(5_000)
  await ask(bearer(foreign))
  t.same([keys.lookups, keys.foreignAsked], [1, 2])
  t.match(await refusalOf(() => ask(bearer(`sk-${'y'.repeat(48)}`))), { code: 'invalid_api_key' })
  t.match(await refusalOf(() => ask(bearer('sk-short'))), { code: 'invalid_api_key' })
  t.same([keys.lookups, keys.foreignAsked], [2, 2])
})

t.test('a missing key is distinguished from a bad one', async t => {
  const { ask } = setUp(t)
  t.match((await refusalOf(() => ask({}))).message, /is missing/)
  t.match((await refusalOf(() => ask(bearer('sk-x')))).message, /Incorrect API key provided/)
})

t.test('with two different keys the known one counts, and two known ones are 400', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  await ask({ ...bearer(secret), 'x-api-key': createSecret() })
  await ask({ ...bearer('sk-left-over-of-a-vendor'), 'x-api-key': secret })
  const other = createSecret()
  keys.put(other, someKey({ id: 'another' }))
  const failure = await refusalOf(() => ask({ ...bearer(secret), 'x-api-key': other }))
  t.match(failure, { status: 400, code: 'conflicting_api_keys' })
  const unknown = await refusalOf(() => ask({ ...bearer(createSecret()), 'x-api-key': createSecret() }))
  t.match(unknown, { status: 401, code: 'invalid_api_key' })
})

t.test('a known disabled key is refused, even with an unknown one next to it', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey({ status: 'disabled' }))
  const failure = await refusalOf(() => ask({ ...bearer(createSecret()), 'x-api-key': secret }))
  t.match(failure, { status: 401, code: 'invalid_api_key' })
})

t.test('a disabled, revoked, expired or unknown key, and one of a disabled user, get the same answer', async t => {
  const { keys, clock, ask } = setUp(t)
  const secrets = Array.from({ length: 5 }, createSecret)
  keys.put(secrets[0] as string, someKey({ status: 'disabled' }))
  keys.put(secrets[1] as string, someKey({ status: 'revoked' }))
  keys.put(secrets[2] as string, someKey({ expiresAt: clock.now() }))
  keys.put(secrets[3] as string, someKey({ userStatus: 'disabled' }))
  const failures = []
  for (const secret of secrets) failures.push(await refusalOf(() => ask(bearer(secret))))
  t.ok(failures.every(failure => failure.status === 401 && failure.code === 'invalid_api_key'))
  t.equal(new Set(failures.map(failure => failure.message)).size, 1)
})

t.test('a key is refused from the moment at which it expires, cached or not', async t => {
  const { keys, clock, secret, ask } = setUp(t)
  keys.put(secret, someKey({ expiresAt: clock.now() + 1000 }))
  clock.move(999)
  await ask(bearer(secret))
  clock.move(1)
  t.equal((await refusalOf(() => ask(bearer(secret)))).status, 401)
})

t.test("a key's own group wins over its user's", async t => {
  const { keys, ask } = setUp(t)
  const [own, users] = [createSecret(), createSecret()]
  keys.put(own, someKey({ group: 'partner' }))
  keys.put(users, someKey({ group: null, userGroup: 'default' }))
  t.equal((await ask(bearer(own))).slots.need(callerSlot).group.name, 'partner')
  t.equal((await ask(bearer(users))).slots.need(callerSlot).group.name, 'default')
})

t.test('a key of a missing group is 403 with a clear text, and the operator is informed once', async t => {
  const { keys, log, secret, ask } = setUp(t)
  keys.put(secret, someKey({ group: 'gone' }))
  for (let i = 0; i < 3; i++)
    t.match(
      await refusalOf(() => ask(bearer(secret))),
      { status: 403, code: 'group_unknown', message: /'gone'/ },
      caseName({ i }),
    )
  t.equal(log.lines.filter(([level]) => level === 'warn').length, 1)
})

t.test('a key works only from its own addresses', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(
    secret,
    someKey({ ips: ['192.0.2.7', '198.51.100.0/24', '2001:db8::/32', 'nonsense', '203.0.113.1/99', '203.0.113.1/'] }),
  )
  for (const remote of ['192.0.2.7', '::ffff:192.0.2.7', '198.51.100.255', '2001:db8:1::5'])
    await t.resolves(ask(bearer(secret), remote), remote)
  for (const remote of ['192.0.2.8', '198.51.101.0', '2001:db9::1', '203.0.113.1', ''])
    t.match(await refusalOf(() => ask(bearer(secret), remote)), { status: 403, code: 'address_not_allowed' }, remote)
})

t.test('an address list of unreadable entries admits no one', async t => {
  t.notOk(listHas(readAddressList(['10.0.0.300', 'localhost', '']), '10.0.0.3'))
})

t.test('a key may use only the models of its list', async t => {
  const { keys, hooks, ask } = setUp(t)
  const [listed, none, all] = [createSecret(), createSecret(), createSecret()]
  keys.put(listed, someKey({ models: ['model-one'] }))
  keys.put(none, someKey({ models: [] }))
  keys.put(all, someKey({ models: null }))
  const target = async (secret: string, model: string) => {
    const context = await ask(bearer(secret))
    await hooks.onTarget?.(context, someTarget({ model }), undefined)
  }
  await t.resolves(target(listed, 'model-one'))
  await t.resolves(target(all, 'model-two'))
  const refused = { status: 403, code: 'model_not_allowed', param: 'model', message: /'model-two'/ }
  t.match(await refusalOf(() => target(listed, 'model-two')), refused)
  t.match(await refusalOf(() => target(none, 'model-two')), refused)
})

t.test('a failing storage is 503, never 401, and is tried again', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  const unavailable = { status: 503, code: 'storage_unavailable', retryAfterMs: 1000 }
  keys.answer = () => {
    throw new Error('database is locked')
  }
  t.match(await refusalOf(() => ask(bearer(secret))), unavailable, 'thrown at once')
  keys.answer = () => Promise.reject(new Error('connection refused'))
  t.match(await refusalOf(() => ask(bearer(secret))), unavailable, 'thrown later')
  keys.answer = key => key
  await t.resolves(ask(bearer(secret)), 'recovers by itself')
})

t.test('a key is looked up once in 30 seconds, a bad one once in 5', async t => {
  const { keys, clock, secret, ask } = setUp(t, new MapKeys(), 1000)
  keys.put(secret, someKey())
  for (let i = 0; i < 5; i++) await ask(bearer(secret))
  clock.move(29_000)
  await ask(bearer(secret))
  t.equal(keys.lookups, 1)
  clock.move(1_500)
  await ask(bearer(secret))
  t.equal(keys.lookups, 2)
  const unknown = bearer(createSecret())
  for (let i = 0; i < 5; i++) await refusalOf(() => ask(unknown))
  t.equal(keys.lookups, 3)
  clock.move(5_500)
  await refusalOf(() => ask(unknown))
  t.equal(keys.lookups, 4)
})

t.test('requests that arrive during a key look-up wait for it', async t => {
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  keys.answer = async key => key
  await Promise.all(Array.from({ length: 50 }, () => ask(bearer(secret))))
  t.equal(keys.lookups, 1)
})

t.test('made-up keys do not evict real ones from the cache', async t => {
  const { keys, secret, ask } = setUp(t, new MapKeys(), 1)
  keys.put(secret, someKey())
  await ask(bearer(secret))
  for (let i = 0; i < 11_000; i++) await refusalOf(() => ask(bearer(createSecret())))
  const before = keys.lookups
  await ask(bearer(secret))
  t.equal(keys.lookups, before)
})

t.test('a key revoked by another process is refused within a second', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  await ask(bearer(secret))
  keys.put(secret, someKey({ status: 'revoked' }))
  await t.resolves(ask(bearer(secret)), 'not seen yet')
  mock.timers.tick(500)
  // The poll is asynchronous even if the store answers immediately.
  await new Promise(setImmediate)
  t.equal((await refusalOf(() => ask(bearer(secret)))).status, 401)
})

t.test('a look-up that began before a revocation was seen is not cached', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { keys, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  const { promise, resolve } = Promise.withResolvers<Key | undefined>()
  keys.answer = () => promise
  const early = ask(bearer(secret))
  keys.put(secret, someKey({ status: 'revoked' }))
  mock.timers.tick(500)
  await new Promise(setImmediate)
  resolve(someKey())
  await t.resolves(early)
  keys.answer = key => key
  t.equal((await refusalOf(() => ask(bearer(secret)))).status, 401)
})

t.test('while the storage cannot report changes, known keys stay valid and the operator is informed once', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { keys, log, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  await ask(bearer(secret))
  keys.failing = true
  for (let i = 0; i < 3; i++) {
    mock.timers.tick(500)
    await new Promise(setImmediate)
  }
  await t.resolves(ask(bearer(secret)))
  t.equal(log.lines.filter(([level]) => level === 'warn').length, 1)
})

t.test('of 1,000 invalid keys per minute from one address 20 get 401 and the rest 429', async t => {
  const { keys, log, secret, ask } = setUp(t)
  keys.put(secret, someKey())
  const statuses: number[] = []
  for (let i = 0; i < 1000; i++)
    statuses.push((await refusalOf(() => ask(bearer(createSecret()), '203.0.113.9'))).status)
  t.equal(statuses.filter(status => status === 401).length, 20)
  t.equal(statuses.lastIndexOf(401), 19)
  t.equal(statuses.filter(status => status === 429).length, 980)
  await t.resolves(ask(bearer(secret), '203.0.113.9'), 'a good key from that address is not locked out')
  t.equal((await refusalOf(() => ask(bearer('sk-bad'), '203.0.113.10'))).status, 401, 'nor is any other address')
  t.equal(log.lines.length, 21, 'repeated refusals are not logged repeatedly')
})

t.test('an address that waits the reported time gets 401 again instead of 429', async t => {
  const { clock, ask } = setUp(t, new MapKeys(), 2)
  await refusalOf(() => ask(bearer('sk-bad')))
  clock.move(10_000)
  await refusalOf(() => ask(bearer('sk-bad')))
  const failure = await refusalOf(() => ask(bearer('sk-bad')))
  t.match(failure, { status: 429, code: 'too_many_bad_keys', retryAfterMs: 50_000, retry: false })
  clock.move(49_999)
  t.equal((await refusalOf(() => ask(bearer('sk-bad')))).status, 429)
  clock.move(1)
  t.equal((await refusalOf(() => ask(bearer('sk-bad')))).status, 401)
})

t.test('counts an IPv6 /64 as one client', async t => {
  t.equal(networkOf('2001:db8:0:1::5'), networkOf('2001:0DB8::1:ffff:1:2:3'))
  t.not(networkOf('2001:db8:0:1::5'), networkOf('2001:db8:0:2::5'))
  t.equal(networkOf('::1'), '0:0:0:0::/64')
  t.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(networkOf('192.0.2.1'), '192.0.2.1')
})

t.test('failures of at most 10,000 networks are remembered', async t => {
  const log = new BadKeyLog(new HandClock())
  for (let i = 0; i < 30_000; i++) log.count(`network ${i}`, 20)
  t.equal(log.size, 10_000)
})

t.test('keys in a real storage are found only by the secret, which no log and no answer contains', async t => {
  const clock = new HandClock()
  const log = new KeptLog()
  const storage = await openDatabase({ url: 'sqlite::memory:', clock, log })
  const hooks = auth.create(
    { bad_keys_per_minute: 20 },
    someHost({ stores: { ...storage, counters: new MemoryCounters(clock) }, clock, log }),
  )
  t.teardown(async () => {
    await hooks.close?.()
    await storage.close()
  })
  const secret = createSecret()
  const { id } = await storage.keys.create({
    name: 'first',
    user: 'local',
    group: null,
    hash: hashSecret(secret),
    hint: hintOfSecret(secret),
  })
  const good = someExchange({ headers: bearer(secret) })
  await hooks.onRequest?.(good)
  t.equal(good.slots.need(callerSlot).key.id, id)
  await storage.keys.revoke(id)
  clock.move(31_000)
  const failure = await refusalOf(() => hooks.onRequest?.(someExchange({ headers: bearer(secret) })))
  t.equal(failure.status, 401)
  t.notMatch(JSON.stringify([log.lines, failure.message, failure.headers]), secret.slice(3, 30))
})
