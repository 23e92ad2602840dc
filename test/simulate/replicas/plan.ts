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
/** Of vendors' keys: in seeds that go at them. */
const ofKeys = 'key dies'
export type FleetKind = (typeof kinds)[number] | typeof ofKeys

/** One thing that is done to the fleet. */
export type FleetOperated = Omit<Operated, 'kind'> & {
  readonly kind: FleetKind
  /** Which gateway. */
  readonly seat: number
  /** By how much the clock of a gateway is wrong from now on, in milliseconds. */
  readonly skew: number
}

export type FleetPlan = Cast & {
  readonly policy: Policy
  /** Of each gateway: by how much its clock is wrong, in milliseconds. */
  readonly skews: readonly number[]
  readonly operations: readonly FleetOperated[]
}

/** What callers and people do where nothing goes wrong. */
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
/** Polls of gateways cost real questions: nobody waits for long. */
const gapMost = 6_000

/** Requests, keys and vendors are drawn as for one gateway; what is done to them as a fleet by a stream of its own, `likes` more often. */
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

/** Of what befalls vendors' keys of one gateway some is the death of one under all of them: each takes minutes of their polls. */
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
