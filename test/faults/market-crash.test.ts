import t from 'tap'
import { redisMissing } from '../harness/redis.ts'
import { crashMarket } from './market-crash.ts'
import { seed } from '../harness/seed.ts'

t.test(
  'gateways killed while they sell on budgets of every kind overdraw no level, agree at every check, leave no hold and lose no charge',
  { skip: redisMissing() },
  async t => {
    const extent = { kills: 2, requests: 200, parallel: 18, seed }
    t.comment(`to repeat: SEED=${seed} npx tap test/faults/market-crash.test.ts`)
    const summary = await crashMarket(t, {
      ...extent,
      database: 'postgres',
      counters: 'redis',
      isPatient: false,
      isSynced: false,
    })
    t.comment(JSON.stringify(summary))
    t.match(summary, { violations: [], givenAway: 0, double: 0, phantom: 0, stuck: 0 })
    t.ok(summary.charged > 50, 'there was load to speak of')
    t.ok(summary.looks > 5, 'levels were looked at while it was')
  },
)
