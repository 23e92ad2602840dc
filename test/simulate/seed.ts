import { mkdirSync, mkdtempSync, existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { drawPlan } from './play/plan.ts'
import { plantFault } from './sabotage.ts'
import { World } from './world/world.ts'

// One seed in a process of its own, which ends with it: nothing of another seed can outlive it here. The last line is one JSON
// object. Started by run.ts.

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    skip: { type: 'string', default: '' },
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
  },
})
const seed = Number(values.seed)
if (!Number.isSafeInteger(seed)) throw new Error('--seed is a whole number')

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage)
const home = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
mkdirSync(home, { recursive: true })
const folder = mkdtempSync(join(home, 'tollgate-world-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
// The revision of a configuration holds the path of its storage: named from here it is the same in every process.
process.chdir(folder)

const world = new World(seed, values.events ? print : undefined)
world.install()
const { play } = await import('./play/play.ts')
const skip = new Set(values.skip === '' ? [] : values.skip.split(',').map(Number))
const outcome = await play(world, drawPlan(seed), '.', { skip, ...(values.story && { story: print }) })
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0))
