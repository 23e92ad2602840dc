import t from 'tap'
import { runSessionCrashes } from './session-crash.ts'
import { seed } from '../harness/seed.ts'

t.test(
  'killed in the middle of turns, the gateway charges no turn twice and loses none, and later ones exactly',
  async t => {
    t.comment(`SEED=${seed}`)
    const summary = await runSessionCrashes({ kills: 2, sessions: 10, turns: 10, seed })
    t.comment(JSON.stringify(summary))
    t.strictSame(summary.violations, [])
    t.ok(summary.received > 100, 'there was load to speak of')
  },
)
