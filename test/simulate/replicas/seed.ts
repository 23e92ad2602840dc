import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { plantFault } from '../sabotage.ts'
import { World } from '../world/world.ts'
import { installReplicas } from './machine.ts'
import { readFleet, type RecordedFleet } from './record.ts'
import { fleetSabotages } from './sabotages.ts'
import type { Servers } from './servers.ts'
import { Stores } from './stores.ts'

// Plays one plan of several gateways from standard input, in a process of its own. The last line of its output is one
// JSON object. children.ts starts this script.

const { values } = parseArgs({
  options: {
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
    servers: { type: 'string' },
  },
})
if (values.servers === undefined) throw new Error('--servers JSON')
const plan = readFleet(JSON.parse(readFileSync(0, 'utf8')) as RecordedFleet)

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage, fleetSabotages)
const world = new World(plan.seed, values.events ? print : undefined)
const stores = new Stores(world, JSON.parse(values.servers) as Servers)
// During a plan, unhandled errors count as faults of the gateways. A failure here would count too: the process would
// have no outcome, but open connections to the servers, and would never end.
try {
  await stores.open()
  installReplicas(world, stores)
  const { playFleet } = await import('./play.ts')
  const outcome = await playFleet(world, plan, stores, values.story ? print : undefined)
  await stores.close()
  process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, () => process.exit(1))
}
