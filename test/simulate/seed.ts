import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readRecorded, type Recorded } from './play/record.ts'
import { plantFault } from './sabotage.ts'
import { World } from './world/world.ts'

// One plan, told on standard input, in a process of its own, which ends with it: nothing of another seed can outlive it here. The
// last line is one JSON object. Started by children.ts.

const { values } = parseArgs({
  options: {
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
    nth: { type: 'string' },
  },
})
const plan = readRecorded(JSON.parse(readFileSync(0, 'utf8')) as Recorded)

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage)
const home = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
mkdirSync(home, { recursive: true })
const folder = mkdtempSync(join(home, 'tollgate-world-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
// The revision of a configuration holds the path of its storage: named from here it is the same in every process.
process.chdir(folder)

const world = new World(plan.seed, values.events ? print : undefined)
world.install()
const { play } = await import('./play/play.ts')
const [of, number] = values.nth?.split(':') ?? []
const nth = of === undefined ? undefined : { of: of as 'statement' | 'commit', number: Number(number) }
const outcome = await play(world, plan, '.', { ...(nth && { nth }), ...(values.story && { story: print }) })
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0))
