import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { runPlan, runPlans, runSeed, runSeeds } from './children.ts'
import { Coverage } from './coverage.ts'
import type { Alarm } from './oracles/oracle.ts'
import { nthPlan } from './play/nth-plan.ts'
import { drawPlan } from './play/plan.ts'
import type { Outcome } from './play/play.ts'
import { readRecorded, recordPlan, type Recorded } from './play/record.ts'
import { sabotages } from './sabotage.ts'
import { unfitting } from './try-sabotages.ts'
import { caseName } from '../harness/case-name.ts'
import { seed as first } from '../harness/seed.ts'

/** A fault that a seed has found, and its resolution. */
type FoundFault = {
  readonly oracle: string
  readonly what: string
  readonly cause: string
  /** The last commit with the fault. */
  readonly foundOn: string
  /** Whether it is still open. */
  readonly open: boolean
  /** The planted fault that is the same, if there is one: the story finds it. */
  readonly planted?: string
  /** The operations as they were drawn then: later changes of the drawing do not affect them. */
  readonly plan: Recorded
}

const found = JSON.parse(readFileSync(resolve(import.meta.dirname, 'seeds.json'), 'utf8')) as readonly FoundFault[]
const freshSeeds = 8
/** Statements of the short story that fail here, one by one; `npm run simulate -- --nth` tries all. */
const fewNth = 3

/** Alarms without those of known, open faults. */
function news({ alarms }: Outcome): readonly string[] {
  const open = new Set(found.flatMap(one => (one.open ? [`${one.oracle}: ${one.what}`] : [])))
  return alarms.map(describe).filter(kind => !open.has(kind))
}

function describe({ oracle, what }: Pick<Alarm, 'oracle' | 'what'>): string {
  return `${oracle}: ${what}`
}

t.jobs = 1

// A seed with vendors' keys takes seconds; with others running, the total exceeds the timeout of a file.
t.setTimeout(600_000)

/** The outcomes of the stories now, all in one process. */
const ended = runPlans(found.map(({ plan }) => ({ plan: readRecorded(plan) })))

for (const [i, { oracle, what, cause, open, planted, plan }] of found.entries()) {
  const operations = plan.operations.map(one => one.kind).join(', ')
  t.test(`${operations}: ${what}, because ${cause}`, open ? { todo: 'not mended yet' } : {}, async t => {
    const isMet = ({ alarms }: Outcome): boolean => alarms.some(one => one.oracle === oracle && one.what === what)
    t.notOk(isMet((await ended)[i] as Outcome), 'it is mended')
    if (planted !== undefined)
      t.ok(isMet(await runPlan(readRecorded(plan), { sabotage: planted })), 'and would be found again')
  })
}

t.test('planted faults match the sources', t => {
  t.strictSame(unfitting(), [])
  t.end()
})

t.test('a recorded story equals the drawn one', t => {
  for (const seed of [1, 2, 10]) {
    const plan = drawPlan(seed)
    const read = readRecorded(JSON.parse(JSON.stringify(recordPlan(plan))) as Recorded)
    t.strictSame(recordPlan(read), recordPlan(plan), caseName({ seed }))
    t.equal(read.operations.length, plan.operations.length, caseName({ seed }))
  }
  t.end()
})

t.test('the code that a seed reaches is recorded', async t => {
  const folder = t.testdir()
  await runSeed(1, { coverage: folder })
  const coverage = new Coverage(resolve(import.meta.dirname, '../..'))
  coverage.take(resolve(folder, '1'))
  for (const [part, { lines, linesAll }] of Object.entries(coverage.sum()))
    t.ok(lines > linesAll / 3 && lines < linesAll, `${part}: ${lines} of ${linesAll}`)
})

t.test('any single failing statement or commit breaks no promise', async t => {
  const firstNth = 1 + (first % 60)
  const numbers = Array.from({ length: fewNth }, (_, i) => firstNth + 7 * i)
  const cases = (['statement', 'commit'] as const).flatMap(kind =>
    numbers.map(number => ({ plan: nthPlan, nth: { of: kind, number } })),
  )
  const outcomes = await runPlans(cases)
  for (const [i, { nth }] of cases.entries()) t.strictSame(news(outcomes[i] as Outcome), [], `${nth.of} ${nth.number}`)
})

t.test('a seed gives the same run again, in another process with slow threads', async t => {
  const seeds = [1, 3, 10]
  const cases = seeds.map(seed => ({ plan: drawPlan(seed) }))
  const [plain, sluggish] = await Promise.all([runPlans(cases), runPlans(cases, { sluggish: true })])
  for (const [i, seed] of seeds.entries()) {
    const two = sluggish[i] as Outcome
    const one = plain[i] as Outcome
    t.equal(one.trace, two.trace, `trace of seed ${seed}: what does time not stand still for? (world/time.ts)`)
    t.equal(one.books, two.books, `books of seed ${seed}`)
    t.strictSame(two.alarms, one.alarms, `alarms of seed ${seed}`)
    t.ok(one.happened > 1_000, caseName({ seed }))
  }
})

t.test('random seeds keep every promise', async t => {
  const seeds = Array.from({ length: freshSeeds }, (_, i) => first + i)
  const outcomes: Outcome[] = []
  await runSeeds(seeds, outcome => void outcomes.push(outcome))
  t.equal(outcomes.length, freshSeeds)
  for (const outcome of outcomes) t.strictSame(news(outcome), [], `npm run simulate -- --seed ${outcome.seed}`)
})

t.test('a known seed finds its planted fault', async t => {
  const proven = sabotages.filter(({ seed }) => seed !== undefined)
  const { name, oracle, seed = 0 } = proven[first % proven.length] ?? {}
  const { alarms } = await runSeed(seed, name === undefined ? {} : { sabotage: name })
  t.ok(
    alarms.some(alarm => alarm.oracle === oracle),
    `npm run simulate -- --sabotage ${name}`,
  )
})

t.test('a planted fault is found', async t => {
  const outcome = await runSeed(10, { sabotage: 'digest-of-nothing' })
  t.ok(outcome.alarms.some(alarm => alarm.oracle === 'audit'))
})
