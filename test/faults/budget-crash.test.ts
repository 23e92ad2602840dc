import t from 'tap'
import { crashBudgets } from './budget-crash.ts'
import { seed } from '../harness/seed.ts'

t.test(
  'processes killed while they sell on budgets of every kind, across midnights, overdraw no level, leave no hold and lose no charge',
  async t => {
    t.comment(`SEED=${seed}`)
    const { sqlite, postgres, violations } = await crashBudgets(t, { kills: 1, requests: 150, parallel: 12, seed })
    t.comment(JSON.stringify({ sqlite, postgres }))
    t.strictSame(violations, [])
    t.ok(sqlite.sold > 20 && postgres.sold > 20, 'there was load to speak of')
    t.ok(sqlite.told > 0 && postgres.told > 0, 'events were reported')
  },
)
