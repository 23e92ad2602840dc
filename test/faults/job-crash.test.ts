import t from 'tap'
import { runJobCrashes } from './job-crash.ts'
import { seed } from '../harness/seed.ts'

t.test(
  "[10.5] killed at random during a vendor's work, the gateway delivers no picture unbilled, bills none twice or unmade, and leaves no job",
  async t => {
    t.comment(`SEED=${seed}`)
    const summary = await runJobCrashes({ kills: 5, seed, clients: 24, secondsMax: 8 })
    t.comment(JSON.stringify(summary))
    t.strictSame(summary.violations, [])
    t.match(summary, { unbilled: 0, double: 0, phantom: 0, stuck: 0 })
    t.ok(summary.kills > 0 && summary.delivered >= summary.kills, 'each killed gateway had delivered')
  },
)
