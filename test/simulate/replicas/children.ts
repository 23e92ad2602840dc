import { resolve } from 'node:path'
import { runScript, type SeedOptions } from '../children.ts'
import type { Outcome } from '../play/play.ts'
import type { FleetPlan } from './plan.ts'
import { recordFleet } from './record.ts'
import type { Servers } from './servers.ts'

const script = resolve(import.meta.dirname, 'seed.ts')

/** A seed takes seconds, and minutes if servers and gateways share a busy machine. */
const mostMs = 1_200_000

export type FleetOptions = Omit<SeedOptions, 'nth'> & {
  /** Real milliseconds before the process is killed. */
  readonly mostMs?: number
}

/** Runs a plan of several gateways in a process of its own. Never rejects: any other failure is an alarm. */
export function runFleet(plan: FleetPlan, servers: Servers, options: FleetOptions = {}): Promise<Outcome> {
  const { postgresPort, redisPort, clocks } = servers
  const args = ['--servers', JSON.stringify({ postgresPort, redisPort, clocks })]
  return runScript(plan.seed, script, args, { mostMs, ...options, input: JSON.stringify(recordFleet(plan)) })
}
