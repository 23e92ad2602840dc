import t from 'tap'
import { firstIdAt, timeOrderedId } from '../../src/kit/index.ts'

const day = 86_400_000
const now = 2_000_000_000_000

t.test('ids are in the order in which they were made, thousands in a millisecond too', t => {
  const ids = Array.from({ length: 5_000 }, () => timeOrderedId('req_', now))
  t.same(ids.toSorted(), ids)
  t.equal(new Set(ids).size, ids.length)
  t.ok(
    timeOrderedId('req_', now - 900) > (ids.at(-1) ?? ''),
    'nor does a clock that is set right by a little change that',
  )
  t.end()
})

t.test('[6.7] ids are of the time that it is once a clock that was ahead is right again', t => {
  for (const jump of [400 * day, -400 * day]) {
    timeOrderedId('req_', now + jump)
    const id = timeOrderedId('req_', now)
    t.ok(id >= firstIdAt('req_', now) && id < firstIdAt('req_', now + 2_000), id)
  }
  t.end()
})
