import t from 'tap'
import { rollingRestart } from '../faults/rolling-restart.ts'
import { nginxMissing } from '../harness/nginx.ts'
import { redisMissing } from '../harness/redis.ts'

const skip = nginxMissing() || redisMissing()

t.test(
  'three gateways behind nginx are restarted one after the other, and no client notices [O6]',
  { skip },
  async t => {
    // `npm run test:rolling` runs ten cycles, at 100 requests per second.
    const figures = await rollingRestart(t, { cycles: 1, rps: 10, drainWait: '2s', idle: '1s' })
    t.comment(JSON.stringify(figures))
    t.strictSame(figures.errors, {})
    t.strictSame(figures.exits, [])
    t.strictSame(figures.problems, [])
    t.equal(figures.charges, figures.requests, 'each request is in the books once')
  },
)
