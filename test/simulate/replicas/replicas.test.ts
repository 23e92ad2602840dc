import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { redisMissing } from '../../harness/redis.ts'
import type { Outcome } from '../play/play.ts'
import { unfitting } from '../try-sabotages.ts'
import { runFleet } from './children.ts'
import { drawFleetPlan } from './plan.ts'
import { readFleet, recordFleet, type RecordedFleet } from './record.ts'
import { fleetSabotages } from './sabotages.ts'
import { startServers } from './servers.ts'
import { caseName } from '../../harness/case-name.ts'
import { seed } from '../../harness/seed.ts'

/**
 * A fault that a seed of several gateways has found. The timing of the real servers affects concurrent requests: a
 * story mostly finds its planted fault at once, but a single pass proves nothing.
 */
type FoundFault = {
  readonly oracle: string
  readonly cause: string
  /** The last commit with the fault. */
  readonly foundOn: string
  /** The planted fault that is the same, or very similar. */
  readonly planted: string
  readonly plan: RecordedFleet
}

const found = JSON.parse(readFileSync(resolve(import.meta.dirname, 'seeds.json'), 'utf8')) as readonly FoundFault[]
/** Attempts, because a fault depends on the servers' timing. */
const triesMost = 4
/** A hanging story is ended and reported before tap ends the whole file. */
const mostMs = 150_000
const skip = redisMissing()

t.setTimeout(600_000)

t.test('planted faults of several gateways match the sources', t => {
  t.strictSame(unfitting(fleetSabotages), [])
  t.end()
})

t.test('a recorded story of several gateways equals the drawn one', t => {
  for (const seed of [1, 2, 10]) {
    const plan = drawFleetPlan(seed)
    const read = readFleet(JSON.parse(JSON.stringify(recordFleet(plan))) as RecordedFleet)
    t.strictSame(recordFleet(read), recordFleet(plan), caseName({ seed }))
    t.equal(read.operations.length, plan.operations.length, caseName({ seed }))
  }
  t.end()
})

t.test('several gateways on one PostgreSQL and one Redis keep every promise', { skip }, async t => {
  const servers = await startServers()
  t.teardown(() => servers.close())

  for (const { oracle, cause, planted, plan } of found)
    await t.test(`${plan.operations.map(one => one.kind).join(', ')}: ${cause}`, async t => {
      const isMet = ({ alarms }: Outcome): boolean => alarms.some(one => one.oracle === oracle)
      const story = readFleet(plan)
      t.strictSame((await runFleet(story, servers, { mostMs })).alarms, [], 'it is mended')
      let isFound = false
      for (let tries = 0; tries < triesMost && !isFound; tries++)
        isFound = isMet(await runFleet(story, servers, { sabotage: planted, mostMs }))
      t.ok(isFound, 'and would be found again')
    })

  const { alarms, asks } = await runFleet(drawFleetPlan(seed), servers, { mostMs })
  t.strictSame(alarms, [], `npm run simulate -- --replicas --seed ${seed}`)
  t.ok(asks > 5)
})
