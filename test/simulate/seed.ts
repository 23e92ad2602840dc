import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readRecorded, type Recorded } from './play/record.ts'
import { plantFault } from './sabotage.ts'
import { World } from './world/world.ts'

// Plans, a line each on standard input, are played one after the other, and the process ends with the last; each outcome is a line,
// one JSON object. Every world has its own folder, time and chance. Started by children.ts.

const { values } = parseArgs({
  options: {
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
    nth: { type: 'string' },
  },
})
const plans = readFileSync(0, 'utf8')
  .split('\n')
  .filter(line => line !== '')
  .map(line => readRecorded(JSON.parse(line) as Recorded))
const [of, number] = values.nth?.split(':') ?? []
const nth = of === undefined ? undefined : { of: of as 'statement' | 'commit', number: Number(number) }

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage)
const home = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
mkdirSync(home, { recursive: true })
const folder = mkdtempSync(join(home, 'tollgate-world-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

for (const [i, plan] of plans.entries()) {
  const own = join(folder, String(i))
  mkdirSync(own)
  // The revision of a configuration holds the path of its storage: named from here it is the same in every process.
  process.chdir(own)
  const world = new World(plan.seed, values.events ? print : undefined)
  world.install()
  // Once the timers are the world's.
  const { play } = await import('./play/play.ts')
  print(JSON.stringify(await play(world, plan, '.', { ...(nth && { nth }), ...(values.story && { story: print }) })))
  process.chdir(folder)
  rmSync(own, { recursive: true })
}
process.stdout.write('', () => process.exit(0))
