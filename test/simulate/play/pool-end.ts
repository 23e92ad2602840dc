import { codeOf, statusOf, type Wish } from './asks.ts'
import { effectOf, poolKeys, secretOf } from './pool.ts'
import { resume } from './pool-operations.ts'
import { plainWish } from './record.ts'
import type { Stage } from './stage.ts'

const minute = 60_000
/** Whoever was refused is looked at every hour at last. */
const untilBackMs = 61 * minute
/** What one process hears of another's words after, and of a person's. */
const heardMs = 8_000

/** When all keys of vendors have been well for as long as it takes: each is asked while it is the only one that may be. */
export async function tryPools(stage: Stage): Promise<void> {
  if (!stage.asks.some(({ wish }) => wish.model.startsWith('pool-'))) return
  const { world, upstreams } = stage
  const { keys } = upstreams
  for (const key of poolKeys) await resume(stage, key)
  if (keys.ills.some(({ ill }) => effectOf(ill) === 'invalid' || effectOf(ill) === 'no_credit'))
    await world.time.pass(untilBackMs)
  for (const key of poolKeys) {
    const secret = secretOf(key)
    if (secret === undefined || key.budget !== undefined) continue
    const others = poolKeys.filter(one => one !== key)
    for (const other of others) await stage.decide(other, 'suspended', null)
    await world.time.pass(heardMs)
    const wish: Wish = { ...plainWish, key: 0, model: key.upstream === 'spare' ? 'pool-pair' : 'pool-image', seed: 7 }
    const ask = stage.ask(wish)
    await world.time.pass(30_000)
    keys.returns.push({
      key: key.name,
      status: statusOf(ask),
      code: codeOf(ask),
      asked: ask.arrivals.map(arrival => arrival.secret),
    })
    for (const other of others) await resume(stage, other)
    await world.time.pass(heardMs)
  }
  await stage.admin(async storage => {
    const all = await storage.vendorKeys.spent()
    keys.spent = all.filter(({ per }) => per === 'total').map(({ key, spent }) => ({ key, spent }))
  })
}
