import { resolve } from 'node:path'
import { runScript } from '../children.ts'
import type { Outcome } from '../play/play.ts'
import type { Servers } from './servers.ts'

const script = resolve(import.meta.dirname, 'seed.ts')

export type FleetOptions = {
  /** Operations that are left out. */
  readonly skip?: ReadonlySet<number>
  readonly sabotage?: string
  /** As often as this planted fault needs what it needs. */
  readonly likes?: string
  readonly story?: (line: string) => void
  readonly events?: boolean
}

/** Runs one seed of several gateways in a process of its own. Never rejects: what goes wrong with it is an alarm. */
export function runFleetSeed(seed: number, servers: Servers, options: FleetOptions = {}): Promise<Outcome> {
  const { skip, likes, ...rest } = options
  const { postgresPort, redisPort, clocks } = servers
  const args = ['--seed', String(seed), '--servers', JSON.stringify({ postgresPort, redisPort, clocks })]
  if (skip) args.push(`--skip=${[...skip].join(',')}`)
  if (likes !== undefined) args.push('--likes', likes)
  return runScript(seed, script, args, rest)
}
