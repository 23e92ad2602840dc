import t from 'tap'
import { describePoints, lineThrough, type Point } from '../../bench/capacity-line.ts'

const point = (charges: number, ledger: number): Point => ({
  keys: 1_000,
  charges,
  bytes: { key: 400_000, segment: ledger, few: 10 },
  rows: { key: 1_000 },
  postSeconds: 2,
  addUpSeconds: 4,
  lookupMicros: 10,
})

t.test('a line goes through the last two points, with the keys of the first', async t => {
  const points = [point(0, 0), point(1_000, 300_000), point(3_000, 500_000)]
  const table = lineThrough(points, { keys: 10_000, charges: 1_003_000 })
  // 200,000 bytes more for 2,000 charges; 400 bytes a key, of which there are 9,000 more.
  t.match(table, '| segment | – | 0.500 | 0.00 | 100 | 0.101 |')
  t.match(table, '| key | 1000 | 0.400 | 400 | 0.00 | 0.00400 |')
  t.match(table, '| all others | – |')
  t.notMatch(table, '| few |')
  t.throws(() => lineThrough([point(0, 0)], { keys: 1, charges: 1 }), /two points/)
})

t.test('a point has the rates since the point before', async t => {
  t.match(describePoints([point(0, 0), point(1_000, 300_000)]), '| 1000 | 0.700 | 500 | 250 | 10.0 |')
})
