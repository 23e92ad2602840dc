import { createHash } from 'node:crypto'
import { createKey } from '../../../src/index.ts'
import { type Ask, codeOf, statusOf, type Wish } from './asks.ts'
import { effectOf, type PoolKey, poolKeys, type Returned, secretOf } from './pool.ts'
import { resume, suspend } from './pool-operations.ts'
import { plainWish } from './record.ts'
import type { Stage } from './stage.ts'

const minute = 60_000
/** In the long run a refused key is probed every hour. */
const untilBackMs = 61 * minute
/** The maximum pause of a key after a refusal without a time. */
const untilCoolMs = 5 * minute + 10_000
/** Delays after a refusal until a free probe, and until a request tries a key that had no credit. */
const untilLookedMs = 1.5 * minute
const trialMs = 30 * minute
/** The delay until one process knows what another, or a person, has changed. */
const heardMs = 8_000
/** Time for a request and its charge to finish. */
const askedMs = 30_000

/**
 * After all keys of vendors have been well for long enough: checks that they are active again, and that their limits
 * apply.
 */
export async function tryPools(stage: Stage): Promise<void> {
  if (!isAtPools(stage)) return
  const caller = await enrol(stage)
  if (caller === undefined) return
  await awaitKeys(stage, caller)
  for (const key of poolKeys) await tryAmongLimited(stage, caller, key)
  await tryAlone(stage, caller, key => exceed(stage, caller, key))
  await readSpent(stage)
}

async function readSpent(stage: Stage): Promise<void> {
  await stage.admin(async storage => {
    const all = await storage.vendorKeys.spent()
    stage.upstreams.keys.spent = all.filter(({ per }) => per === 'total').map(({ key, spent }) => ({ key, spent }))
  })
}

/** The same for several gateways, whose polls query real servers: only each key alone, and the spend. */
export async function tryKeys(stage: Stage): Promise<void> {
  if (!isAtPools(stage)) return
  for (const key of poolKeys) await resume(stage, key)
  await tryAlone(stage, 0)
  await readSpent(stage)
}

function isAtPools(stage: Stage): boolean {
  return stage.asks.some(({ wish }) => wish.model.startsWith('pool-'))
}

/** A caller without a budget or limits. @returns the number of the key */
export async function enrol(stage: Stage): Promise<number | undefined> {
  const planned = {
    name: 'pools',
    user: 'ada',
    group: 'partner',
    budget: null,
    period: 'total',
    uses: ['image'],
  } as const
  const { name, user, group, budget, period } = planned
  const isMade = await stage.admin(async storage => {
    const { key, secret } = await createKey(
      storage,
      { name, user, group, budget, budgetPeriod: period, limits: {} },
      'world',
      stage.world.random,
    )
    const live = { enabled: true, now: budget, lost: false, disabledAt: undefined, old: undefined }
    stage.keys.push({ ...planned, ...live, rpm: undefined, id: key.id, secret, groups: [group] })
  })
  return isMade ? stage.keys.length - 1 : undefined
}

/**
 * People withdraw their suspensions; only the gateway can detect the end of a vendor's refusal. If a clock was changed,
 * the recorded times mean nothing, so people help.
 */
async function awaitKeys(stage: Stage, caller: number): Promise<void> {
  const { time } = stage.world
  const { ills, words } = stage.upstreams.keys
  for (const key of poolKeys)
    if (stage.jumps.length > 0 || words.some(one => one.key === key.name && one.until > time.tick))
      await resume(stage, key)
  const isRefused = ills.some(({ ill }) => effectOf(ill) === 'invalid' || effectOf(ill) === 'no_credit')
  await time.pass(isRefused ? untilBackMs : untilCoolMs)
  // A request tries a key that had no credit, and never two at once.
  for (const _ of poolKeys) await ask(stage, caller, 'pool-pair')
  await time.pass(heardMs)
  await stage.admin(async storage => {
    const all = await storage.vendorKeys.list()
    stage.upstreams.keys.stuck = all.flatMap(({ upstream, key, hash, state, model, reason }) => {
      // The second vendor is used only if the first has no key; state of an earlier secret no longer counts.
      const inUse = poolKeys.find(one => one.name === key)
      const isWell = upstream === 'pool' && model === '' && inUse !== undefined && hash === hashOf(inUse)
      return isWell && state === 'suspended' && reason !== 'operator' ? `${key}: ${reason}` : []
    })
  })
}

/** The gateway's name for the secret of a key. */
function hashOf(key: PoolKey): string {
  return createHash('sha256')
    .update(secretOf(key) ?? '')
    .digest('hex')
    .slice(0, 32)
}

/** Each key is used in the end while all others are limited. */
async function tryAmongLimited(stage: Stage, caller: number, key: PoolKey): Promise<void> {
  if (secretOf(key) === undefined || key.budget !== undefined) return
  stage.upstreams.keys.returns.push(await askAmongLimited(stage, key, wish => stage.ask({ ...wish, key: caller })))
  await stage.world.time.pass(untilCoolMs)
}

/** The vendors limit all keys but one: their answer to every request is 429. */
export async function askAmongLimited(stage: Stage, key: PoolKey, askFor: (wish: Wish) => Ask): Promise<Returned> {
  for (const other of poolKeys) {
    const secret = other === key ? undefined : secretOf(other)
    if (secret !== undefined) stage.upstreams.keys.fallAnyway(secret, 'limited', askedMs)
  }
  const request = askFor({ ...plainWish, model: modelOf(key), seed: 7 })
  await stage.world.time.pass(askedMs)
  return { key: key.name, isAlone: false, ...cameTo(request) }
}

/** Each key is used while people have suspended all others; then `more` tests it further. */
async function tryAlone(stage: Stage, caller: number, more?: (key: PoolKey) => Promise<void>): Promise<void> {
  const { time } = stage.world
  for (const key of poolKeys) {
    if (secretOf(key) === undefined || (key.budget !== undefined && !more)) continue
    const others = poolKeys.filter(one => one !== key)
    for (const other of others) await suspend(stage, other)
    await time.pass(heardMs)
    if (key.budget === undefined)
      stage.upstreams.keys.returns.push({ key: key.name, isAlone: true, ...(await ask(stage, caller, modelOf(key))) })
    await more?.(key)
    for (const other of others) await resume(stage, other)
    await time.pass(heardMs)
  }
}

/** Exceeds a key's own limit; a key without limits is refused by its vendor, and recovers. */
async function exceed(stage: Stage, caller: number, key: PoolKey): Promise<void> {
  const { time } = stage.world
  const { budget, rpm, concurrency } = key
  const model = modelOf(key)
  if (budget !== undefined) for (let i = 0; i < 4; i++) await ask(stage, caller, model, spentAtOnce)
  else if (rpm !== undefined || concurrency !== undefined) {
    await time.pass(minute)
    const atOnce = 3 + Math.max(rpm ?? 0, concurrency ?? 0)
    for (let i = 0; i < atOnce; i++) stage.ask({ ...plainWish, key: caller, model, seed: i })
    await time.pass(minute)
  } else await refuse(stage, caller, key)
}

/** A vendor refuses the only usable key; then it recovers. */
async function refuse(stage: Stage, caller: number, key: PoolKey): Promise<void> {
  const secret = secretOf(key)
  const [ill, untilTriedMs] =
    key.upstream === 'pool' ? (['revoked', untilLookedMs] as const) : (['unpaid', trialMs] as const)
  if (secret === undefined) return
  stage.upstreams.keys.fallAnyway(secret, ill, askedMs)
  await ask(stage, caller, modelOf(key))
  await stage.world.time.pass(untilTriedMs)
  stage.upstreams.keys.returns.push({ key: key.name, isAlone: true, ...(await ask(stage, caller, modelOf(key))) })
}

/** The lowest price; twice this exceeds a key's budget. */
const spentAtOnce = 20

function modelOf({ upstream }: PoolKey): string {
  return upstream === 'spare' ? 'pool-pair' : 'pool-image'
}

async function ask(stage: Stage, key: number, model: string, n = 1) {
  const request = stage.ask({ ...plainWish, key, model, n, seed: 7 })
  await stage.world.time.pass(askedMs)
  return cameTo(request)
}

function cameTo(request: Ask) {
  return { status: statusOf(request), code: codeOf(request), asked: request.arrivals.map(({ secret }) => secret) }
}
