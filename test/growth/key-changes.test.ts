import { join } from 'node:path'
import t from 'tap'
import { fillKeys, onlyErrors, prepareDatabase } from '../../bench/fill.ts'
import { KeyCache } from '../../plugins/auth/key-cache.ts'
import { hashSecret } from '../../src/index.ts'
import type { KeyStore } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { openDatabase } from '../harness/database.ts'

// The cost of one key's change for all other keys: a count, not a time.

for (const count of [100, 10_000]) {
  t.test(`[9.7] looks up only the changed one of ${count} cached keys`, async t => {
    const path = join(t.testdir(), 'keys.db')
    const url = `sqlite:${path}`
    await prepareDatabase(url)
    const hashes = fillKeys(path, count).map(hashSecret)
    const open = (role: 'gateway' | 'tool') => openDatabase({ url, log: onlyErrors, role })
    const [storage, elsewhere] = [await open('gateway'), await open('tool')]
    let lookups = 0
    const keys: KeyStore = {
      ...storage.keys,
      findByHash(hash) {
        lookups++
        return storage.keys.findByHash(hash)
      },
    }
    const cache = new KeyCache(keys, systemClock, onlyErrors)
    t.teardown(async () => {
      cache.close()
      await elsewhere.close()
      await storage.close()
    })
    const askAll = async (): Promise<number> => {
      lookups = 0
      for (const hash of hashes) await cache.find(hash)
      return lookups
    }
    await cache.poll()
    t.equal(await askAll(), count, 'each once')
    t.equal(await askAll(), 0)
    const [first = '', second = ''] = hashes
    const [one, other] = [await storage.keys.findByHash(first), await storage.keys.findByHash(second)]

    await storage.keys.change(one?.id ?? '', { name: 'changed here' }, 'a test')
    t.equal(await askAll(), 1)
    t.equal((await cache.find(first))?.key.name, 'changed here')
    await cache.poll()
    t.ok((await askAll()) <= 1, 'it may be reported twice: by this process and by the database')

    await elsewhere.keys.revoke(other?.id ?? '', 'a test')
    await cache.poll()
    t.equal(await askAll(), 1)
    t.equal((await cache.find(second))?.key.status, 'revoked')

    await storage.users.change('local', { group: 'partner' }, 'a test')
    t.equal(await askAll(), count, 'a user has all of these')
  })
}

t.test('[9.7] remembers the latest 10,000 unknown secrets, each for five seconds', async t => {
  const storage = await openDatabase({ url: 'sqlite::memory:', log: onlyErrors, role: 'tool' })
  let now = 1_000
  let lookups = 0
  const clock = Object.assign(Object.create(systemClock) as typeof systemClock, { tick: () => now })
  const findByHash: KeyStore['findByHash'] = hash => {
    lookups++
    return storage.keys.findByHash(hash)
  }
  const cache = new KeyCache({ ...storage.keys, findByHash }, clock, onlyErrors)
  t.teardown(async () => {
    cache.close()
    await storage.close()
  })
  for (let i = 0; i <= 10_000; i++) await cache.find(`unknown ${i}`)
  t.equal(lookups, 10_001)
  await cache.find('unknown 10000')
  t.equal(lookups, 10_001, 'the latest is known')
  await cache.find('unknown 0')
  t.equal(lookups, 10_002, 'the first has given up its place')
  now += 5_001
  await cache.find('unknown 10000')
  t.equal(lookups, 10_003, 'five seconds later it may exist')
})
