import { Random } from '../world/random.ts'
import { sketchNames, strangeNames } from './answers.ts'
import type { Wish } from './asks.ts'

/**
 * In some seeds vendors answer requests for pictures irregularly: with links that lead to no picture, with JSON for a
 * stream and the reverse, with a page. In other seeds, some chats use a model that makes images, or get an answer of
 * the other kind, or one client fills a small upstream. Each has a random stream of its own, so that all other seeds
 * stay unchanged.
 */
export function answerStrangely<O extends Wished & { readonly gap: number }>(
  seed: number,
  operations: readonly O[],
): readonly O[] {
  return crowd(seed, sketch(seed, answerPictures(seed, operations)))
}

type Wished = { readonly wish: Wish }

function answerPictures<O extends Wished>(seed: number, operations: readonly O[]): readonly O[] {
  const random = new Random(seed, 'strange')
  if (!random.chance(0.5)) return operations
  return operations.map(operated => {
    const { wish } = operated
    const isOrdinary = wish.shapes.length === 1 && wish.shapes[0] === 'data'
    if (!isOrdinary || !(wish.operation === 'image' || wish.operation === 'edit') || !random.chance(0.4))
      return operated
    return { ...operated, wish: { ...wish, shapes: [random.pick(strangeNames)] } }
  })
}

function sketch<O extends Wished>(seed: number, operations: readonly O[]): readonly O[] {
  const random = new Random(seed, 'sketches')
  if (!random.chance(0.4)) return operations
  return operations.map(operated => {
    const { wish } = operated
    if (wish.shapes.length !== 1 || wish.shapes[0] !== 'data' || !random.chance(0.5)) return operated
    if (wish.operation === 'chat' && random.chance(0.3)) return { ...operated, wish: { ...wish, shapes: ['turned'] } }
    if (wish.operation !== 'chat' && wish.operation !== 'image') return operated
    const shapes = [random.pick(sketchNames)]
    const stream = random.chance(0.6)
    const own = { operation: 'sketch', model: 'sketch-one', n: 1, shapes, stream, render: undefined } as const
    return { ...operated, wish: { ...wish, ...own } }
  })
}

/**
 * One client sends many requests to an upstream with few connections, and then another client sends a single request.
 */
function crowd<O extends Wished & { readonly gap: number }>(seed: number, operations: readonly O[]): readonly O[] {
  const random = new Random(seed, 'crowd')
  if (!random.chance(0.15)) return operations
  const chat = { operation: 'chat', model: 'narrow-chat', n: 1, shapes: ['data'], leaves: undefined } as const
  const plainly = { wire: 'plain', leavesBytes: undefined, coding: undefined, connection: 'close' } as const
  return operations.map((operated, i) => {
    const isNoisy = i % 4 === 0
    if (!isNoisy && i % 4 !== 1) return operated
    const { seed: drawn } = operated.wish
    // A multiple of eight requests a tool.
    const own = { key: isNoisy ? 0 : 4, idempotency: undefined, seed: drawn % 8 === 0 ? drawn + 1 : drawn }
    const wish = { ...operated.wish, ...chat, ...plainly, ...own }
    return { ...operated, kind: isNoisy ? 'burst' : 'ask', gap: isNoisy ? operated.gap : 50 + random.int(500), wish }
  })
}
