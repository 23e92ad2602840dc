import t from 'tap'
import { SlidingLog } from '../../src/storage/counters/sliding-log.ts'
import { seed, seeded } from '../harness/seed.ts'

const minute = 60_000

function logOf(...entries: readonly (readonly [stamp: number, amount: number])[]): SlidingLog {
  const log = new SlidingLog()
  for (const [stamp, amount] of entries) log.add(stamp, amount)
  return log
}

const kinds: readonly (readonly [string, (random: () => number) => number])[] = [
  ['requests', () => 1],
  ['tokens', random => 1 + Math.floor(random() ** 2 * 40)],
]
for (const [kind, draw] of kinds)
  t.test(`a log of ${kind} equals a plain list, whatever is added, changed and removed`, async t => {
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const log = new SlidingLog()
    let model: { stamp: number; amount: number }[] = []
    const sumAt = (at: number) => model.reduce((sum, { stamp, amount }) => sum + (at - stamp < minute ? amount : 0), 0)
    let now = 1e9
    for (let i = 0; i < 6_000; i++) {
      // Several entries at one time, times between two milliseconds, and sometimes a long pause.
      if (random() < 0.7) now += random() < 0.005 ? minute : random() * 900
      log.forget(now)
      model = model.filter(({ stamp }) => now - stamp < minute)
      const amount = draw(random)
      if (random() < 0.6) {
        log.add(now, amount)
        model.push({ stamp: now, amount })
      } else {
        const known = random() < 0.8 ? model[Math.floor(random() * model.length)] : undefined
        const [stamp, from] = known ? [known.stamp, known.amount] : [now - random() * 90_000, amount]
        const to = random() < 0.6 ? 0 : draw(random)
        const at = model.findIndex(one => one.stamp === stamp && one.amount === from)
        if (at >= 0) model.splice(at, 1, ...(to === 0 ? [] : [{ stamp, amount: to }]))
        if (log.change(stamp, from, to) !== at >= 0) t.fail(`step ${i}: ${stamp} is at ${at}`)
      }
      const newest = model.at(-1)
      if (
        log.length !== model.length ||
        log.used !== sumAt(now) ||
        log.resetMs(now) !== (newest === undefined ? 0 : newest.stamp + minute - now)
      )
        t.fail(`step ${i}: ${log.length} of ${log.used}, not ${model.length} of ${sumAt(now)}`)
      const requested = draw(random)
      const limit = requested + Math.floor(random() * sumAt(now) * 1.2)
      const wait = log.waitMs(limit, requested, now)
      const isSoonest =
        sumAt(now + wait) + requested <= limit && (wait === 0 || sumAt(now + wait - 1) + requested > limit)
      if (!Number.isInteger(wait) || !isSoonest) t.fail(`step ${i}: ${wait} ms for ${requested} of ${limit}`)
    }
  })

t.test('an entry of 60 seconds is outside, a younger one is not', async t => {
  const log = logOf([1_000, 1], [1_001, 1])
  log.forget(1_000 + minute - 1)
  t.equal(log.length, 2)
  log.forget(1_000 + minute)
  t.match(log, { length: 1, used: 1 })
  t.equal(log.resetMs(1_000 + minute), 1)
})

t.test('a demand of 0 never waits, a fitting one does not, one too many does', async t => {
  const log = logOf([0, 1], [10, 2])
  t.equal(log.waitMs(3, 0, 20), 0)
  t.equal(log.waitMs(1, 0, 20), 0, 'nor after a limit was lowered below the current count')
  t.equal(log.waitMs(5, 2, 20), 0)
  t.equal(log.waitMs(5, 3, 20), minute - 20, 'for the first to leave')
  t.equal(log.waitMs(5, 4, 20), minute - 10, 'for both')
})

t.test('a demand above the limit waits for a whole window', async t => {
  t.equal(logOf().waitMs(5, 6, 20), minute)
  t.equal(logOf([0, 1]).waitMs(5, 6, 20), minute)
})

t.test('a client that waits the reported time fits, even when the sum of two times is rounded down', async t => {
  // The float closest above a whole number; 60 seconds later no float is that close.
  const stamp = 6_000 + 2 ** -37
  const log = logOf([stamp, 1])
  const wait = log.waitMs(1, 1, 6_001)
  t.equal(wait, minute, 'a millisecond more than the sum')
  log.forget(6_001 + wait)
  t.equal(log.length, 0)
})

t.test('requests before the first tokens count as one each', async t => {
  const added = logOf([0, 1], [10, 1], [20, 7])
  added.forget(minute + 5)
  t.equal(added.used, 8)
  const changed = logOf([0, 1], [10, 1], [20, 1])
  t.equal(changed.change(20, 1, 7), true)
  changed.forget(minute + 5)
  t.equal(changed.used, 8)
})

t.test('removed entries are gone, and so are expired ones', async t => {
  const log = logOf([0, 1], [0, 1], [10, 1])
  t.equal(log.change(10, 1, 0), true)
  t.equal(log.change(10, 1, 0), false)
  t.equal(log.length, 2)
  log.forget(minute)
  t.equal(log.change(0, 1, 0), false)
  t.match(log, { length: 0, used: 0 })
})

t.test('of amounts of one moment the taken one is changed, and no other', async t => {
  const log = logOf([0, 3], [5, 2], [5, 4], [5, 6], [9, 4])
  t.equal(log.change(5, 5, 1), false)
  t.equal(log.change(4, 4, 1), false)
  t.equal(log.used, 19)
  t.equal(log.change(5, 4, 1), true)
  t.equal(log.used, 16)
  log.forget(minute + 5)
  t.equal(log.used, 4, 'the later one is unchanged')
})
