import t from 'tap'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { HandClock } from '../harness/request-context.ts'

t.test('windows of idle keys are dropped: a million keys use the memory of one busy minute', async t => {
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
