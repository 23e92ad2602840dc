import { Random } from '../world/random.ts'
import { shapeNames } from './answers.ts'
import type { Operation, Wish } from './asks.ts'
import { askForEndUsers, hasEndUsers } from './end-users.ts'
import { goAtPools, type PoolKind } from './pool-plan.ts'
import { answerStrangely } from './strange-plan.ts'
import type { GroupName } from './settings.ts'
import { codings, wires } from './upstreams.ts'

/** A key of the world, created at the start. */
export type PlannedKey = {
  readonly name: string
  readonly user: 'ada' | 'bob'
  readonly group: GroupName
  readonly budget: number | null
  readonly period: 'total' | 'day' | 'month' | 'week' | '7d'
  readonly rpm: number | undefined
  /** The operations that may use it: text may overdraw, images may not. */
  readonly uses: readonly Operation[]
}

const kinds = [
  'ask',
  'burst',
  'again',
  'jump',
  'verify',
  'crash',
  'restart',
  'reload',
  'disk full',
  'slow disk',
  'statement fails',
  'reads fail',
  'writer dies',
  'wait',
  'outage',
  'lag',
  'budget',
  'disable',
  'rotate',
  'refund',
  'resolve',
  'change',
  'regroup',
  'old secret',
  'sick vendor',
  'odd request',
] as const
export type Kind = (typeof kinds)[number] | PoolKind | 'session'

/** One action in the world. All of it is drawn before any part may be removed. */
export type Operated = {
  readonly no: number
  readonly kind: Kind
  /** Milliseconds before it. */
  readonly gap: number
  readonly wish: Wish
  readonly count: number
  /** Milliseconds by which the wall clock jumps. */
  readonly jump: number
  /** Milliseconds for which a fault lasts, or a process is down. */
  readonly lasts: number
  readonly key: number
  /** A random choice among the options of the operation. */
  readonly choice: number
  readonly state: 'refused' | 'late' | 'never'
  readonly host: number
}

/** The participants, which are independent of the operations. */
export type Cast = {
  readonly seed: number
  /** No faults at all: the promises apply strictly. */
  readonly calm: boolean
  /** Callers name end users, who have limits and budgets. */
  readonly endUsers: boolean
  readonly keys: readonly PlannedKey[]
}

export type Plan = Cast & { readonly operations: readonly Operated[] }

const minute = 60_000
const day = 86_400_000
const faults: ReadonlySet<Kind> = new Set([
  'jump',
  'crash',
  'restart',
  'disk full',
  'slow disk',
  'statement fails',
  'reads fail',
  'writer dies',
  'outage',
  'lag',
  'disable',
  'rotate',
  'change',
  'regroup',
  'sick vendor',
])

/** Draws a plan: the actions, by whom, in which order, and the frequency of each fault, which differs between seeds. */
export function drawPlan(seed: number, length = 45): Plan {
  const random = new Random(seed, 'plan')
  const calm = seed % 10 === 0
  const squeeze = random.pick<Squeeze>(['nothing', 'nothing', 'budgets', 'limits', 'tokens'])
  const weights = drawWeights(random, calm, squeeze)
  const appetite = drawAppetite(random, calm, squeeze)
  const operations = Array.from({ length }, (_, no) => drawOperation(random, no, weights, appetite))
  const atPools = goAtPools(seed, operations, faults)
  // Stories of vendors' keys stay unchanged.
  const planned = atPools === operations ? answerStrangely(seed, operations) : atPools
  const endUsers = atPools === operations && hasEndUsers(seed)
  const assigned = endUsers ? askForEndUsers(seed, planned) : planned
  return { seed, calm, endUsers, keys: drawKeys(random), operations: addSessions(seed, assigned) }
}

/**
 * In some seeds callers also talk with a realtime model. A random stream of its own keeps all other seeds unchanged.
 */
function addSessions(seed: number, operations: readonly Operated[]): readonly Operated[] {
  const random = new Random(seed, 'live')
  if (!random.chance(0.3)) return operations
  return operations.flatMap(operated => {
    if (!random.chance(0.25)) return [operated]
    const own = { kind: 'session', gap: random.int(2_000), choice: random.int(1_000_000) } as const
    return [{ ...operated, ...own, no: operations.length + operated.no }, operated]
  })
}

/** Some seeds concentrate on one thing: budgets that are nearly spent, limits that are nearly reached. */
type Squeeze = 'nothing' | 'budgets' | 'limits' | 'tokens'
const squeezed: { readonly [squeeze in Squeeze]: readonly number[] } = {
  nothing: [],
  budgets: [1, 2, 3, 9],
  limits: [0, 5, 6, 7],
  tokens: [8],
}

/** Swarm testing: each seed omits some of the possible actions, and prefers others. */
function drawWeights(
  random: Random,
  calm: boolean,
  squeeze: Squeeze,
): { readonly [kind in (typeof kinds)[number]]: number } {
  const weights = Object.fromEntries(kinds.map(kind => [kind, random.chance(0.55) ? 0.3 + random.unit() : 0]))
  for (const kind of faults) if (calm) weights[kind] = 0
  return {
    ...(weights as { [kind in (typeof kinds)[number]]: number }),
    ask: 5 + random.int(8),
    burst: random.unit() * 2 + (squeeze === 'nothing' ? 0 : 2),
    again: random.unit() * 1.5,
    verify: 0.5,
    wait: 0.5,
    'odd request': random.unit() * 0.3,
  }
}

/** The tendencies of this seed's callers and vendors. */
type Appetite = {
  readonly operations: { readonly [operation in Operation]: number }
  /** Share of irregular answers. */
  readonly odd: number
  readonly oddWire: number
  readonly leaves: number
  readonly streams: number
  readonly key: number
  /** Share of the requests with that key. */
  readonly loyal: number
  /** Share of the answers with a content coding. */
  readonly packed: number
  /** Share of the callers who keep their connections. */
  readonly keeps: number
}

function drawAppetite(random: Random, calm: boolean, squeeze: Squeeze): Appetite {
  const operations = {
    image: 2 + random.int(4),
    edit: random.int(3),
    chat: random.int(3) + (squeeze === 'tokens' ? 12 : 0),
    sketch: 0,
    responses: random.int(2),
    embeddings: random.int(2),
  }
  const keys = squeezed[squeeze]
  return {
    loyal: keys.length === 0 ? 0.4 : 0.85,
    packed: random.chance(0.4) ? random.unit() * 0.6 : 0,
    keeps: random.chance(0.5) ? random.unit() * 0.8 : 0,
    operations,
    odd: calm ? 0 : random.unit() * 0.7,
    oddWire: calm ? 0 : random.unit() * 0.6,
    leaves: calm ? 0 : random.unit() * 0.3,
    streams: random.unit() * 0.6,
    key: keys.length === 0 ? random.int(keyCount) : random.pick(keys),
  }
}

const keyCount = 10

/** Budgets near the price of an image, so that they run out: faults appear there. */
function drawKeys(random: Random): readonly PlannedKey[] {
  const images: readonly Operation[] = ['image', 'edit']
  const all: readonly Operation[] = ['image', 'edit', 'chat', 'sketch', 'responses', 'embeddings']
  const cents = (least: number, most: number): number => (least + random.int(most - least)) * 20_000
  const key = (name: string, more: Partial<PlannedKey>): PlannedKey => ({
    name,
    user: 'ada',
    group: 'default',
    budget: null,
    period: 'total',
    rpm: undefined,
    uses: all,
    ...more,
  })
  const small = (budget: number): PlannedKey =>
    key('small', { budget, period: budget % 40_000 === 0 ? 'week' : '7d', uses: images })
  return [
    key('free', {}),
    key('total', { budget: cents(4, 60), uses: images }),
    key('day', { budget: cents(4, 40), period: 'day', uses: images }),
    key('month', { budget: cents(8, 100), period: 'month', uses: images, group: 'partner' }),
    key('text', { budget: cents(2, 50), group: 'partner', uses: all }),
    key('tight', { group: 'tight', rpm: 20 + random.int(30) }),
    key('team one', { group: 'team', user: 'bob' }),
    key('team two', { group: 'team', user: 'bob', rpm: 5 + random.int(12) }),
    key('words', { group: 'tokens', uses: ['chat', 'embeddings'] }),
    small(cents(2, 10)),
  ]
}

function drawOperation(
  random: Random,
  no: number,
  weights: { readonly [kind in (typeof kinds)[number]]: number },
  appetite: Appetite,
): Operated {
  return {
    no,
    kind: random.weigh(weights),
    gap: random.chance(0.3) ? random.int(90_000) : random.int(4_000),
    wish: drawWish(random, appetite),
    count: 2 + random.int(26),
    jump: random.pick([minute, 3_600_000, day, 40 * day, 400 * day]) * (random.chance(0.5) ? 1 : -1),
    lasts: 500 + random.int(random.chance(0.2) ? 120_000 : 20_000),
    key: random.int(keyCount),
    choice: random.int(1_000_000),
    state: random.pick(['refused', 'late', 'never']),
    host: random.int(5),
  }
}

const imageModels = ['alpha-image-2', 'alpha-pair', 'beta-imagine-image', 'counted'] as const
const sizes = [undefined, '1024x1024', '1536x1024', '1024x1536', '2048x2048', '3840x2160'] as const

function drawWish(random: Random, appetite: Appetite): Wish {
  const operation = random.weigh(appetite.operations)
  const model = {
    image: random.pick(imageModels),
    edit: random.pick(imageModels),
    chat: random.pick(['sim-chat', 'chat-pair', 'chat-review', 'chat-refuse']),
    sketch: 'sketch-one',
    responses: 'draws-one',
    embeddings: 'sim-embedding',
  }[operation]
  const isBeta = model === 'beta-imagine-image'
  const stream = random.chance(appetite.streams) && operation !== 'embeddings' && !isBeta
  const render = random.pick<Wish['render']>(['url', 'b64_json', undefined, undefined])
  const isOdd = random.chance(appetite.odd)
  const names = shapeNames({ operation, stream })
  const leaves = random.chance(appetite.leaves) ? random.pick(['time', 'bytes']) : undefined
  const shapes = isOdd ? [random.pick(names), random.pick([...names, 'data', 'data'])] : ['data']
  return {
    key: random.chance(appetite.loyal) ? appetite.key : random.int(keyCount),
    operation,
    model,
    n: operation === 'image' || operation === 'edit' ? 1 + random.int(4) : 1,
    size: random.pick(sizes),
    stream,
    render: stream && !isBeta ? undefined : render,
    includeUsage: random.chance(0.5),
    files: Array.from({ length: 1 + random.int(2) }, () => random.int(random.chance(0.1) ? 1_500_000 : 3_000)),
    shapes,
    wire: random.chance(appetite.oddWire) ? random.pick(wires) : 'plain',
    idempotency: random.chance(0.3) ? `idem-${random.int(1e9)}` : undefined,
    again: undefined,
    // At any moment: during the request, the work, or the answer.
    leaves: leaves === 'time' ? random.int(random.pick([10, 300, 20_000])) : undefined,
    leavesBytes: leaves === 'bytes' ? 1 + random.int(random.pick([200, 2_000, 30_000])) : undefined,
    coding: random.chance(appetite.packed) ? random.pick(codings) : undefined,
    connection: random.chance(appetite.keeps) ? random.pick(['keep', 'keep', 'pipeline']) : 'close',
    seed: random.int(1e9),
  }
}
