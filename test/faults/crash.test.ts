import t from 'tap'
import { runCrashes } from './crash.ts'
import { seed } from '../harness/seed.ts'

t.test(
  'killed at random under load, the gateway delivers no image unbilled, bills none twice or unmade, and leaves no hold [B3] [B5] [row 15] [row 16] [row 17] [row 18]',
  async t => {
    t.comment(`SEED=${seed}`)
    const summary = await runCrashes({ kills: 8, seed, clients: 32, secondsMax: 20 })
    t.comment(JSON.stringify(summary))
    t.strictSame(summary.violations, [])
    t.match(summary, { unbilled: 0, double: 0, phantom: 0 })
    t.ok(summary.kills > 0 && summary.delivered >= summary.kills, 'each killed gateway had delivered')
  },
)
