import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { runSeed, runSeeds } from './children.ts'
import type { Alarm } from './oracles/oracle.ts'
import type { Outcome } from './play/play.ts'

/** A fault that a seed has found, and what became of it. */
type FoundFault = {
  readonly seed: number
  /** Of the plan, without what the fault does not need. */
  readonly skip: readonly number[]
  readonly oracle: string
  readonly what: string
  readonly cause: string
  /** The last commit that had it. */
  readonly foundOn: string
  /** Nobody has mended it yet. */
  readonly open: boolean
}

const found = JSON.parse(readFileSync(resolve(import.meta.dirname, 'seeds.json'), 'utf8')) as readonly FoundFault[]
const freshSeeds = 12

/** Alarms that are no fault found before and still open. */
function news({ alarms }: Outcome): readonly string[] {
  const open = new Set(found.flatMap(one => (one.open ? [`${one.oracle}: ${one.what}`] : [])))
  return alarms.map(describe).filter(kind => !open.has(kind))
}

function describe({ oracle, what }: Pick<Alarm, 'oracle' | 'what'>): string {
  return `${oracle}: ${what}`
}

t.jobs = 1

for (const { seed, skip, oracle, what, cause, open } of found)
  t.test(`seed ${seed}: ${what}, because ${cause}`, open ? { todo: 'not mended yet' } : {}, async t => {
    const outcome = await runSeed(seed, { skip: new Set(skip) })
    t.notOk(
      outcome.alarms.some(alarm => alarm.oracle === oracle && alarm.what === what),
      `npm run simulate -- --seed ${seed}`,
    )
  })

t.test('what a seed decides happens once more in the same way, in another process', async t => {
  for (const seed of [3, 10]) {
    const [one, two] = await Promise.all([runSeed(seed), runSeed(seed)])
    t.equal(one.trace, two.trace, `trace of seed ${seed}`)
    t.equal(one.books, two.books, `books of seed ${seed}`)
    t.ok(one.happened > 1_000)
  }
})

t.test('seeds that nobody has tried, by the commit, keep every promise', async t => {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
  const first = Number.parseInt(commit.slice(0, 8), 16)
  const seeds = Array.from({ length: freshSeeds }, (_, i) => first + i)
  const outcomes: Outcome[] = []
  await runSeeds(seeds, outcome => void outcomes.push(outcome))
  t.equal(outcomes.length, freshSeeds)
  for (const outcome of outcomes) t.strictSame(news(outcome), [], `npm run simulate -- --seed ${outcome.seed}`)
})

t.test('a planted fault is found', async t => {
  const outcome = await runSeed(10, { sabotage: 'digest-of-nothing' })
  t.ok(outcome.alarms.some(alarm => alarm.oracle === 'audit'))
})
