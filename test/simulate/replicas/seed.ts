import { parseArgs } from 'node:util'
import { plantFault } from '../sabotage.ts'
import { World } from '../world/world.ts'
import { installReplicas } from './machine.ts'
import { drawFleetPlan } from './plan.ts'
import type { Servers } from './servers.ts'
import { fleetSabotages } from './sabotages.ts'
import { Stores } from './stores.ts'

// One seed of several gateways in a process of its own. The last line is one JSON object. Started by children.ts.

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    skip: { type: 'string', default: '' },
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
    likes: { type: 'string' },
    servers: { type: 'string' },
  },
})
const seed = Number(values.seed)
if (!Number.isSafeInteger(seed) || values.servers === undefined) throw new Error('--seed N --servers JSON')

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage, fleetSabotages)
const world = new World(seed, values.events ? print : undefined)
const stores = new Stores(world, JSON.parse(values.servers) as Servers)
await stores.open()
installReplicas(world, stores)
const { playFleet } = await import('./play.ts')
const likes = fleetSabotages.find(one => one.name === values.likes)?.likes
const skip = new Set(values.skip === '' ? [] : values.skip.split(',').map(Number))
const outcome = await playFleet(world, drawFleetPlan(seed, likes), stores, {
  skip,
  ...(values.story && { story: print }),
})
await stores.close()
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0))
