import t from 'tap'
import { firstIdAt, Ids, systemRandom } from '../../src/util/index.ts'

const noon = Date.UTC(2026, 10, 20, 12)
const day = 86_400_000

t.test('ids are in order of creation, however many in a millisecond', t => {
  const ids = new Ids()
  const made = Array.from({ length: 5_000 }, (_, i) => ids.next('req_', noon + Math.floor(i / 2_500)))
  t.strictSame(made.toSorted(), made)
  t.equal(new Set(made).size, made.length)
  t.end()
})

t.test('[6.7] ids have the current time once a clock that was ahead is right again', t => {
  const ids = new Ids()
  ids.next('req_', noon)
  t.ok(ids.next('req_', noon + 400 * day) >= firstIdAt('req_', noon + 400 * day))
  const after = ids.next('req_', noon + 5)
  t.ok(after >= firstIdAt('req_', noon + 5))
  t.ok(after < firstIdAt('req_', noon + 6))
  t.end()
})

t.test('a clock that is set back by less than a second makes no id that sorts before another', t => {
  const ids = new Ids()
  const first = ids.next('req_', noon)
  const second = ids.next('req_', noon - 900)
  t.ok(second > first)
  t.end()
})

t.test('ids use the injected random bytes', t => {
  const same = () => new Ids({ bytes: size => Buffer.alloc(size, 7) }).next('req_', noon)
  t.equal(same(), same())
  t.not(new Ids(systemRandom).next('req_', noon), same())
  t.end()
})

t.test('[6.7] ids have the current time, whichever way the clock jumped', t => {
  const ids = new Ids()
  for (const jump of [400 * day, -400 * day]) {
    ids.next('req_', noon + jump)
    const id = ids.next('req_', noon)
    t.ok(id >= firstIdAt('req_', noon) && id < firstIdAt('req_', noon + 2_000), id)
  }
  t.end()
})
