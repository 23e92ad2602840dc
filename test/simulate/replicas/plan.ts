import { type Cast, drawPlan, type Operated } from '../play/plan.ts'
import { Random } from '../world/random.ts'
import type { Policy } from './seat.ts'

export const kinds = [
  'ask',
  'burst',
  'race',
  'spend',
  'places',
  'words',
  'again',
  'verify',
  'wait',
  'freeze',
  'freeze long',
  'kill',
  'restart',
  'roll',
  'postgres held',
  'postgres refused',
  'postgres ends sessions',
  'redis held',
  'redis refused',
  'redis forgets',
  'commits in doubt',
  'gone at a commit',
  'counters in doubt',
  'writes fail',
  'skew',
  'outage',
  'lag',
  'budget',
  'reload',
  'reload all',
  'disable',
  'rotate',
  'decide twice',
  'refund twice',
] as const
/** Operations on vendors' keys, in seeds about them. */
const ofKeys = 'key dies'
export type FleetKind = (typeof kinds)[number] | typeof ofKeys

/** One action on the fleet. */
export type FleetOperated = Omit<Operated, 'kind'> & {
  readonly kind: FleetKind
  /** The gateway's number. */
  readonly seat: number
  /** The error of a gateway's clock from now on, in milliseconds. */
  readonly skew: number
}

export type FleetPlan = Cast & {
  readonly policy: Policy
  /** The error of each gateway's clock, in milliseconds. */
  readonly skews: readonly number[]
  readonly operations: readonly FleetOperated[]
}

/** The normal actions of callers and administrators. */
const peaceful: ReadonlySet<FleetKind> = new Set([
  'ask',
  'burst',
  'race',
  'spend',
  'places',
  'words',
  'again',
  'verify',
  'wait',
  'budget',
  'decide twice',
  'refund twice',
])
/** Polls of gateways query real servers, so waits are short. */
const gapMost = 6_000

/**
 * Requests, keys and vendors are drawn as for one gateway; actions on the fleet use a random stream of its own, `likes`
 * more often.
 */
export function drawFleetPlan(seed: number, likes: readonly FleetKind[] = [], length = 24): FleetPlan {
  const plan = drawPlan(seed, length)
  const random = new Random(seed, 'fleet')
  const weights: { [kind in FleetKind]: number } = { ...drawWeights(random, plan.calm), [ofKeys]: 0 }
  for (const kind of likes) weights[kind] += 4
  const gateways = random.chance(0.5) ? 2 : 3
  const drawSkew = (): number => (plan.calm || random.chance(0.4) ? 0 : random.int(120_000) - 60_000)
  return {
    ...plan,
    policy: random.chance(0.5) ? 'local' : 'refuse',
    skews: Array.from({ length: gateways }, drawSkew),
    operations: plan.operations.map(operated => ({
      ...operated,
      kind: kindOf(operated, random.weigh(weights)),
      seat: random.int(gateways),
      gap: Math.min(operated.gap, random.chance(0.2) ? gapMost : 1_500),
      lasts: Math.min(operated.lasts, 20_000),
      skew: drawSkew(),
    })),
  }
}

/**
 * Some of the faults of vendors' keys become the death of one under all gateways: each takes minutes of their polls.
 */
function kindOf({ kind, choice }: Operated, drawn: FleetKind): FleetKind {
  return kind === 'sick key' && choice % 4 === 0 ? ofKeys : drawn
}

function drawWeights(random: Random, calm: boolean): { readonly [kind in (typeof kinds)[number]]: number } {
  const weights = Object.fromEntries(kinds.map(kind => [kind, random.chance(0.5) ? 0.3 + random.unit() : 0]))
  for (const kind of kinds) if (calm && !peaceful.has(kind)) weights[kind] = 0
  return {
    ...(weights as { [kind in (typeof kinds)[number]]: number }),
    ask: 4 + random.int(6),
    burst: 0.5 + random.unit(),
    race: random.unit(),
    spend: 0.3 + random.unit(),
    places: random.unit() * 0.7,
    words: random.unit() * 0.7,
    verify: 0.7,
  }
}
