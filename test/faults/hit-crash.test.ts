import t from 'tap'
import { seed } from '../harness/seed.ts'
import { runHitCrashes } from './hit-crash.ts'

t.test(
  'killed while it serves from its cache, a gateway charges no hit twice, and loses only the last ones',
  async t => {
    t.comment(`to repeat: SEED=${seed} npx tap test/faults/hit-crash.test.ts`)
    const summary = await runHitCrashes({ kills: 3, seed })
    t.comment(JSON.stringify(summary))
    t.strictSame(summary.violations, [])
    t.ok(summary.delivered > 50 && summary.charged > 50, 'there were hits to speak of')
  },
)
