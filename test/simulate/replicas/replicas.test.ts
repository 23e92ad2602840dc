import { execFileSync } from 'node:child_process'
import t from 'tap'
import { redisMissing } from '../../harness/redis.ts'
import { runFleetSeed } from './children.ts'
import { startServers } from './servers.ts'

/** Seeds that found a fault: 7 (a charge dropped for conflicts), 119 (a refund at two gateways at once). */
const found = [119]

const skip = redisMissing()

t.test('several gateways on one PostgreSQL and one Redis keep every promise, whatever happens', { skip }, async t => {
  const servers = await startServers()
  t.teardown(() => servers.close())
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
  for (const seed of [...found, Number.parseInt(commit.slice(0, 8), 16)]) {
    const { alarms, asks } = await runFleetSeed(seed, servers)
    t.strictSame(alarms, [], `npm run simulate -- --replicas --seed ${seed}`)
    t.ok(asks > 5)
  }
})
