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

// Plays plans, one line each on standard input, one after the other, and exits after the last. Each outcome is one line
// with a JSON object. Every world has its own folder, time and randomness. children.ts starts this script.

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
  // A configuration's revision contains the path of its storage: a relative path is the same in every process.
  process.chdir(own)
  const world = new World(plan.seed, values.events ? print : undefined)
  world.install()
  // Imported after the timers are the world's.
  const { play } = await import('./play/play.ts')
  const outcome = await play(world, plan, '.', { ...(nth && { nth }), ...(values.story && { story: print }) })
  print(JSON.stringify(withStrange(outcome)))
  process.chdir(folder)
  rmSync(own, { recursive: true })
}
process.stdout.write('', () => process.exit(0))

/** Operations that the world does not wait for make a seed nondeterministic. */
function withStrange(outcome: Outcome): Outcome {
  const alarms = [...strange].map(type => ({
    oracle: 'harness',
    what: `nobody waits for ${type}`,
    detail: 'world/time.ts',
  }))
  return { ...outcome, alarms: [...outcome.alarms, ...alarms] }
}
