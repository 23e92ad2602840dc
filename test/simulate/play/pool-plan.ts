import { Random } from '../world/random.ts'
import { bodyRefusalNames } from './answers.ts'
import type { Wish } from './asks.ts'
import { poolModels } from './pool.ts'

/** Operations on keys of vendors with several keys, in seeds about them. */
export type PoolKind = 'sick key' | 'suspend key' | 'change keys'

const minute = 60_000

/**
 * Some seeds test vendors with several keys: their callers use those vendors' models, keys fall ill and recover, people
 * suspend, replace and remove them. In half of them machines have no faults, and the promises apply strictly. A random
 * stream of its own keeps all other seeds unchanged.
 */
export function goAtPools<O extends { readonly kind: string; readonly gap: number; readonly wish: Wish }>(
  seed: number,
  operations: readonly O[],
  faults: ReadonlySet<string>,
): readonly (Omit<O, 'kind'> & { readonly kind: O['kind'] | PoolKind | 'ask' })[] {
  const random = new Random(seed, 'pools')
  if (!random.chance(0.4)) return operations
  const isQuiet = random.chance(0.5)
  const share = 0.4 + 0.6 * random.unit()
  const ill = 0.1 + 0.25 * random.unit()
  const refuse = refuseBodies(seed, operations)
  return operations.map(operated => {
    const isOfKeys = random.chance(ill)
    const kind = random.weigh<PoolKind>({ 'sick key': 6, 'suspend key': 1, 'change keys': 1.5 })
    const wish = refuse(atPool(operated.wish, random, random.chance(share)))
    const gap = random.chance(0.04) ? random.int(40 * minute) : operated.gap
    if (isOfKeys) return { ...operated, kind, gap }
    return { ...operated, wish, gap, kind: isQuiet && faults.has(operated.kind) ? 'ask' : operated.kind }
  })
}

/** In half of them one client sends requests that its vendor refuses with every key. */
function refuseBodies(seed: number, operations: readonly { readonly wish: Wish }[]): (wish: Wish) => Wish {
  const random = new Random(seed, 'bodies')
  const noisy = random.chance(0.5) ? operations[random.int(operations.length)]?.wish.key : undefined
  return wish => {
    if (wish.key !== noisy || !wish.model.startsWith('pool-') || !random.chance(0.6)) return wish
    const shape = random.pick(bodyRefusalNames)
    return { ...wish, shapes: Array.from({ length: 8 }, () => shape) }
  }
}

function atPool(wish: Wish, random: Random, isForIt: boolean): Wish {
  const image = random.pick(poolModels.image)
  const chat = random.pick(poolModels.chat)
  if (!isForIt || (wish.operation !== 'image' && wish.operation !== 'chat')) return wish
  // Refusals concern the key here; vendors that fail by themselves belong to other seeds.
  const shapes = wish.shapes.map(shape => (shape.startsWith('error') ? 'data' : shape))
  return { ...wish, model: wish.operation === 'image' ? image : chat, shapes }
}
