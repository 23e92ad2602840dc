import type { Operated } from './plan.ts'
import { illNames, type PoolFile, type PoolKey, poolKeys, secretOf, type Word } from './pool.ts'
import type { Stage } from './stage.ts'

/** A key of a vendor falls ill; most recover by themselves. */
export function sickenKey(stage: Stage, { choice, lasts }: Operated): void {
  const key = keyOf(choice)
  const secret = secretOf(key, stage.lives.settings.pool)
  const ill = illNames[(choice >> 4) % illNames.length]
  if (secret === undefined || ill === undefined) return
  const ms = lasts * (1 + ((choice >> 8) % 40))
  stage.world.mark('fault: sick key')
  stage.tell(`  ${secret}: ${ill} for ${ms} ms`)
  stage.upstreams.keys.fall(secret, ill, ms)
}

/** A person suspends a key: for a given time, or until it is resumed. */
export async function suspendKey(stage: Stage, { choice, lasts }: Operated): Promise<void> {
  const key = keyOf(choice)
  const { time } = stage.world
  const ms = 10_000 + lasts * 5
  const isForAWhile = (choice >> 4) % 2 === 0
  stage.world.mark('a person suspends a key')
  const word = await suspend(stage, key, isForAWhile ? time.wall + ms : null)
  if (isForAWhile && word.isKnown) {
    word.until = time.tick + ms
    return
  }
  await time.pass(ms / 2)
  await resume(stage, key)
}

/** A person suspends a key until a wall time; without a time, until it is resumed. */
export async function suspend(stage: Stage, key: PoolKey, untilWall: number | null = null): Promise<Word> {
  const { time } = stage.world
  const word: Word = { key: key.name, from: time.tick, until: Infinity, isKnown: false }
  stage.upstreams.keys.words.push(word)
  word.isKnown = await stage.decide(key, 'suspended', untilWall)
  word.from = time.tick
  return word
}

/** Retries until a person's resume is acknowledged. */
export async function resume(stage: Stage, key: PoolKey): Promise<void> {
  const { time } = stage.world
  const { words } = stage.upstreams.keys
  const from = time.tick
  for (let tries = 0; tries < 40; tries++) {
    if (await stage.decide(key, 'active', null)) break
    await time.pass(5_000)
  }
  for (const word of words) if (word.key === key.name) word.until = Math.min(word.until, time.tick)
  // From then on it may be used again, whatever its vendor has answered.
  words.push({ key: key.name, from, until: time.tick, isKnown: false })
}

/** An operator replaces a key's secret, removes the key or adds it again, or adds a new one. */
export function changeKeys(stage: Stage, file: PoolFile, { choice, lasts }: Operated): PoolFile {
  const key = keyOf(choice)
  const how = (choice >> 4) % 4
  stage.world.mark('keys of a pool changed')
  if (how === 0) return { ...file, hasExtra: !file.hasExtra }
  const isOut = file.without.includes(key.name)
  const isMovable = key.upstream === 'pool' && key.name !== 'one' && key.isExtra !== true
  if (how === 1 && isMovable)
    return { ...file, without: isOut ? file.without.filter(one => one !== key.name) : [...file.without, key.name] }
  const before = secretOf(key, file)
  // The vendor accepts the old one for a while, or not.
  if (before !== undefined && (choice >> 6) % 2 === 0)
    stage.world.time.after(
      lasts,
      'a replaced secret is revoked',
      () => stage.upstreams.keys.fall(before, 'revoked', Number.MAX_SAFE_INTEGER),
      null,
    )
  return { ...file, secrets: { ...file.secrets, [key.name]: (file.secrets[key.name] ?? 0) + 1 } }
}

function keyOf(choice: number): PoolKey {
  return poolKeys[choice % poolKeys.length] as PoolKey
}
