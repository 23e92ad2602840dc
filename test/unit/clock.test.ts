import t from 'tap'
import { completeClock, systemClock, systemRandom } from '../../src/util/index.ts'

// Sleeping does not keep the process alive, so a pending handle has to.
const ended = new AbortController()
const stays = systemClock.sleep(60_000, ended.signal)
t.teardown(async () => {
  ended.abort()
  await stays
})

t.test('scheduled work runs once or repeatedly, until it is cancelled', async t => {
  const done: string[] = []
  systemClock.after(1, () => done.push('once'))
  systemClock.after(1, () => done.push('never')).cancel()
  await new Promise<void>(resolve => {
    let times = 0
    const each = systemClock.every(1, () => {
      done.push('each')
      if (++times < 3) return
      each.cancel()
      resolve()
    })
  })
  t.strictSame(done.toSorted(), ['each', 'each', 'each', 'once'])
})

t.test('a cancelled sleep ends without an error', async t => {
  const end = new AbortController()
  const slept = systemClock.sleep(3_600_000, end.signal)
  end.abort()
  t.equal(await slept, undefined)
  t.equal(await systemClock.sleep(3_600_000, end.signal), undefined, 'aborted before it began')
})

t.test("a clock without timers uses the system's timers; one with timers uses its own", async t => {
  const delays: number[] = []
  const bare = completeClock({ now: () => 5, tick: () => 6 })
  t.equal(bare.now(), 5)
  t.equal(bare.tick(), 6)
  await new Promise<void>(resolve => bare.after(1, resolve))
  const own = completeClock({
    now: () => 0,
    tick: () => 0,
    after(ms) {
      delays.push(ms)
      return { cancel: () => undefined }
    },
  })
  own.after(400 * 86_400_000, () => undefined)
  t.strictSame(delays, [400 * 86_400_000])
})

t.test('randomness returns the requested number of bytes, and numbers from 0 to below 1', t => {
  t.equal(systemRandom.bytes(9).length, 9)
  const numbers = Array.from({ length: 100 }, () => systemRandom.unit())
  t.ok(numbers.every(number => number >= 0 && number < 1))
  t.end()
})
