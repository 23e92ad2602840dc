import t from 'tap'
import { type Known, type Line, judge, parseLines, writeTable } from './results.ts'

// `npm run test:clients` runs the clients themselves, which come from package managers.

const line = (call: string, more: Partial<Line> = {}): Line => {
  return { client: 'a-client', version: '1.2.3', call, ok: true, ...more }
}
const known: Known = {
  client: 'a-client',
  call: /^images/,
  error: /no link/,
  fault: 'client',
  why: 'it takes no links',
}

t.test('call results are the JSON lines of calls; other output is kept separately', t => {
  const call = line('chat', { ok: false, error: 'a { b' })
  const output = `downloading…\n${JSON.stringify(call)}\n{"client":"a-client"}\n{ not JSON\n\n`
  t.same(parseLines(output), { calls: [call], rest: ['downloading…', '{"client":"a-client"}', '{ not JSON'] })
  t.end()
})

t.test('a failure counts against the gateway until someone has examined it', t => {
  const { failed, rows } = judge([line('chat'), line('images', { ok: false, error: 'refused' })], [])
  t.match(failed, [{ call: 'images', fault: 'ours' }])
  t.match(rows, [{ calls: 2, passed: 1, faults: { ours: 1, client: 0, 'not offered': 0 } }])
  t.end()
})

t.test('an examined failure has a fault and a reason; another failure of that call counts against the gateway', t => {
  const calls = [
    line('images, one', { ok: false, error: 'there is no link' }),
    line('images, two', { ok: false, error: 'no answer' }),
    line('chat', { ok: false, error: 'no link' }),
    line('images', { client: 'another', ok: false, error: 'no link' }),
    line('images, three', { ok: false }),
  ]
  t.match(judge(calls, [known]).failed, [
    { fault: 'client', why: 'it takes no links' },
    { fault: 'ours' },
    { fault: 'ours' },
    { fault: 'ours' },
    { fault: 'ours' },
  ])
  t.end()
})

t.test('a recorded failure that no longer occurs is reported for clients that ran', t => {
  t.same(judge([line('images')], [known]).outdated, [known])
  t.same(judge([line('images', { ok: false, error: 'no link' })], [known]).outdated, [])
  t.same(judge([line('images', { client: 'another' })], [known]).outdated, [])
  t.end()
})

t.test('a skipped case of a suite is neither passed nor failed', t => {
  const { rows, failed } = judge([line('chat'), line('images', { ok: false, skipped: true })], [])
  t.match(rows, [{ calls: 1, passed: 1, skipped: 1 }])
  t.same(failed, [])
  t.end()
})

t.test('the table has a row for each client and version, in the order of their first calls', t => {
  const calls = [
    line('chat', { client: 'z' }),
    line('chat'),
    line('chat', { version: '2' }),
    line('images', { client: 'z', ok: false }),
  ]
  t.equal(
    writeTable(judge(calls, [])),
    `\
| client   | version | calls | passed | ours | the client's | not offered | left out |
| -------- | ------- | ----: | -----: | ---: | -----------: | ----------: | -------: |
| z        | 1.2.3   |     2 |      1 |    1 |            0 |           0 |        0 |
| a-client | 1.2.3   |     1 |      1 |    0 |            0 |           0 |        0 |
| a-client | 2       |     1 |      1 |    0 |            0 |           0 |        0 |`,
  )
  t.end()
})
