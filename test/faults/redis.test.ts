import t from 'tap'
import { redisMissing } from '../harness/redis.ts'
import { troubleRedis } from './redis.ts'

t.test(
  'four processes and a Redis that is flushed, restarted, killed, frozen, or loses answers: no error, and no client without a limit [D8] [D9] [R2] [R10]',
  { skip: redisMissing() },
  async t => {
    const figures = await troubleRedis(t, { requests: 400 })
    t.comment(JSON.stringify(figures))
    t.strictSame(figures.violations, [])
    t.ok(Object.values(figures.admitted).every(admitted => admitted > 0))
  },
)
