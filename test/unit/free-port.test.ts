import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { EndedEarly, freePort, onFreePort } from '../harness/free-port.ts'
import { redisMissing, startRedisOn } from '../harness/redis.ts'

const another = createServer().listen(0, '127.0.0.1')
await once(another, 'listening')
t.teardown(() => another.close())
const { port: taken } = another.address() as AddressInfo

t.test('a test server whose port is taken starts on another port', { skip: redisMissing() }, async t => {
  const ports = [taken, taken, await freePort()]
  const server = await onFreePort(
    port => startRedisOn(port, t),
    async () => ports.shift() ?? 0,
  )
  t.equal(await server.command('PING'), '+PONG')
  t.equal(ports.length, 0, 'both that were taken were tried')
})

t.test('any other start error is thrown at once, and that of a port that stays taken after the last try', async t => {
  let starts = 0
  const broken = onFreePort(() => Promise.reject(new Error(`broken ${++starts}`)))
  await t.rejects(broken, { message: 'broken 1' })
  starts = 0
  const never = onFreePort(() => Promise.reject(new EndedEarly(`ended ${++starts}`)))
  await t.rejects(never, { message: 'ended 5' })
})
