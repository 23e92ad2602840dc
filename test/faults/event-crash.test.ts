import t from 'tap'
import { runEventCrashes } from './event-crash.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)

t.test('[11.7] killed at random, a gateway tells every charge at least once, and none that is not', async t => {
  t.comment(`SEED=${seed}`)
  const summary = await runEventCrashes({ kills: 3, requests: 150, seed })
  t.comment(JSON.stringify(summary))
  t.strictSame(summary.violations, [])
  t.match(summary, { missing: 0, phantom: 0, torn: 0 })
  t.ok(summary.happened > 50, 'there was something to tell')
})
