import t from 'tap'
import { measureDelay, measureIdle, measureRefusals, measureStart } from './costs.ts'

// `npm run test:faults -- --only R12,O8,O10,O15` compares the figures with their targets: this file cannot, because the
// machine and its load are unknown.

t.test('a refusal by a limit calls no upstream and makes no charge [R12]', async t => {
  const found = await measureRefusals(t, 200)
  t.match(found, { admitted: 10, refused: 240, calls: 10, charges: 10 })
  t.comment(`${found.cpuMsEach} ms of processor time each`)
})

t.test('16 concurrent images are read by one thread, which reports how long it blocked [O10]', async t => {
  const found = await measureDelay(t, 16)
  t.equal(found.answered, 16)
  t.ok(found.delayMs >= 0, `${found.delayMs} ms`)
})

t.test('a gateway is ready after its start whatever the number of log rows [O15]', async t => {
  const found = await measureStart(t, 20_000)
  t.ok(found.isReady, `${found.readyMs} ms`)
})

t.test('idle connections stay open, and their memory is reported [O8]', async t => {
  const found = await measureIdle(t, 500)
  t.equal(found.lost, 0)
  t.comment(`${found.kilobytesEach} KB each`)
})
