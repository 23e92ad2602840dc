import t from 'tap'
import { runEventCrashes } from './event-crash.ts'
import { seed } from '../harness/seed.ts'

for (const database of ['sqlite', 'postgres'] as const)
  t.test(
    `[11.7] gateways killed at random send an event for every charge at least once, and for nothing else: ${database}`,
    async t => {
      t.comment(`to repeat: SEED=${seed} npx tap test/faults/event-crash.test.ts`)
      const summary = await runEventCrashes(t, { database, kills: 3, requests: 150, seed, isSynced: false })
      t.comment(JSON.stringify(summary))
      t.strictSame(summary.violations, [])
      t.match(summary, { missing: 0, phantom: 0, torn: 0 })
      t.ok(summary.happened > 50, 'there were events to send')
    },
  )
