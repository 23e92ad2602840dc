import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readRecorded, type Recorded } from './play/record.ts'
import type { Nth } from './children.ts'
import type { Outcome } from './play/play.ts'
import { plantFault } from './sabotage.ts'
import { beSluggish } from './world/sluggish.ts'
import { World } from './world/world.ts'

// Plans, a line each on standard input, are played one after the other, and the process ends with the last; each outcome is a line,
// one JSON object. Every world has its own folder, time and chance. Started by children.ts.

const { values } = parseArgs({
  options: {
    story: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
    sluggish: { type: 'boolean', default: false },
  },
})
const cases = readFileSync(0, 'utf8')
  .split('\n')
  .filter(line => line !== '')
  .map(line => JSON.parse(line) as { readonly plan: Recorded; readonly nth?: Nth })
  .map(({ plan, nth }) => ({ plan: readRecorded(plan), nth }))

const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (values.sabotage !== undefined) plantFault(values.sabotage)
const strange = values.sluggish ? beSluggish(cases[0]?.plan.seed ?? 0) : new Set<string>()
const home = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
mkdirSync(home, { recursive: true })
const folder = mkdtempSync(join(home, 'tollgate-world-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

for (const [i, { plan, nth }] of cases.entries()) {
  const own = join(folder, String(i))
  mkdirSync(own)
  // The revision of a configuration holds the path of its storage: named from here it is the same in every process.
  process.chdir(own)
  const world = new World(plan.seed, values.events ? print : undefined)
  world.install()
  // Once the timers are the world's.
  const { play } = await import('./play/play.ts')
  const outcome = await play(world, plan, '.', { ...(nth && { nth }), ...(values.story && { story: print }) })
  print(JSON.stringify(withStrange(outcome)))
  process.chdir(folder)
  rmSync(own, { recursive: true })
}
process.stdout.write('', () => process.exit(0))

/** What nobody is known to wait for makes a seed go one way or another. */
function withStrange(outcome: Outcome): Outcome {
  const alarms = [...strange].map(type => ({
    oracle: 'harness',
    what: `nobody waits for ${type}`,
    detail: 'world/time.ts',
  }))
  return { ...outcome, alarms: [...outcome.alarms, ...alarms] }
}
