import t from 'tap'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { SlidingLog } from '../../src/storage/counters/sliding-log.ts'
import { HandClock, seeded } from '../harness/exchange.ts'

const minute = 60_000

t.test('windows of idle keys are dropped: a million keys hold the memory of one busy minute', async t => {
  const clock = new HandClock()
  const counters = new MemoryCounters(clock)
  let most = 0
  for (let i = 0; i < 1_000_000; i++) {
    clock.move(6)
    counters.take([{ id: `key ${i}`, kind: 'window', limit: 60, amount: 1, shadow: false }])
    most = Math.max(most, counters.size)
  }
  // 10,000 keys are active in any minute.
  t.ok(most <= 21_000, `${most} windows at most`)
})

t.test('a log gives back exactly the request that was taken, wherever it stands', async t => {
  const seed = Date.now() % 2 ** 31
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  const log = new SlidingLog()
  let model: number[] = []
  let now = 0
  for (let i = 0; i < 20_000; i++) {
    if (random() < 0.7) now += Math.floor(random() * 900)
    log.forget(now)
    model = model.filter(stamp => now - stamp < minute)
    const roll = random()
    if (roll < 0.55) {
      log.add(now, 1)
      model.push(now)
    } else {
      const stamp =
        roll < 0.9 ? (model[Math.floor(random() * model.length)] ?? -1) : now - Math.floor(random() * 90_000)
      const at = model.indexOf(stamp)
      if (at >= 0) model.splice(at, 1)
      if (log.change(stamp, 1, 0) !== at >= 0) t.fail(`${stamp} at ${at}`)
    }
    const newest = model.at(-1)
    if (log.length !== model.length || log.resetMs(now) !== (newest === undefined ? 0 : newest + minute - now))
      t.fail(`step ${i}`)
  }
  t.same(
    Array.from({ length: model.length }, (_, i) => log.waitMs(i + 1, 1, now)),
    model.map(stamp => stamp + minute - now).toReversed(),
  )
})
