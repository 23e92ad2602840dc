import t from 'tap'
import { checkBody, judgeRecord, lastWords, type Response } from '../../bench/peers/checks.ts'
import { peers } from '../../bench/peers/install.ts'
import { type PeerResult, renderReport, type Report } from '../../bench/peers/report.ts'
import { starters } from '../../bench/targets.ts'

// Tests of the report of the benchmark with peers. Running the benchmark tests its measurements.

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
const answer = (body: Buffer, more: Partial<Response> = {}): Response => ({ status: 200, headers: {}, body, ...more })
const chat = (content: string, tokens = 7): object => ({
  choices: [{ message: { content } }],
  usage: { prompt_tokens: 3, completion_tokens: tokens },
})
const events = (...texts: readonly string[]): Buffer =>
  Buffer.from(
    `${texts.map(content => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`).join('')}data: [DONE]\n\n`,
  )

t.test('a body is the same, or has the same content for a client, or the difference is named', async t => {
  const direct = answer(json(chat('hello')))
  const cases: readonly (readonly [name: string, direct: Response, through: Response, body: RegExp])[] = [
    ['same', direct, answer(json(chat('hello'))), /^same bytes$/],
    ['written anew', direct, answer(json({ id: 1, ...chat('hello') })), /^same content, other bytes \(\d+ → \d+\)$/],
    ['another text', direct, answer(json(chat('hallo'))), /^differs: text$/],
    ['other counts', direct, answer(json(chat('hello', 8))), /^differs: usage$/],
    ['refused', direct, answer(json(chat('hello')), { status: 500 }), /^failed with 500$/],
    ['no JSON', direct, answer(Buffer.from('<html>')), /^differs: neither JSON nor events$/],
    ['events joined', answer(events('hel', 'lo')), answer(events('hello')), /^same content/],
    ['an event lost', answer(events('hel', 'lo')), answer(events('hel')), /^differs: text$/],
    ['no images', answer(json({ data: [{ b64_json: 'AA' }] })), answer(json({ data: [] })), /^differs: images$/],
  ]
  for (const [name, one, other, body] of cases) t.match(checkBody(one, other).body, body, name)
})

t.test('a cost in a header is found if it is above 0', async t => {
  const direct = answer(json(chat('hello')))
  const costOf = (headers: Response['headers']) => checkBody(direct, { ...direct, headers }).costHeader
  t.equal(costOf({ 'x-response-cost': '0.000385' }), 'x-response-cost')
  t.equal(costOf({ 'x-response-cost': '0.0', 'content-type': 'application/json' }), null)
})

t.test('a record lacks rows, has them all, or has too many', async t => {
  const judged = (answered: number, rows: number | null, cutOffAtMost = 0) =>
    judgeRecord({ answered, rows, cutOffAtMost })
  t.equal(judged(10, null), 'no record')
  t.equal(judged(10, 10), 'complete: 10 rows')
  t.equal(judged(10, 9), '1 of 10 rows lost')
  t.equal(judged(10, 12, 4), 'complete: 10 rows, and 2 of cut-off requests')
  t.equal(judged(10, 15, 4), '5 rows more than 10 responses')
})

t.test('a failed command is reported by its errors, without addresses', async t => {
  t.equal(lastWords('one\nnpm error code E404\nnpm notice read this\ntwo\n'), 'npm error code E404')
  t.equal(lastWords('one\ntwo\nthree\nfour\n'), 'two three four')
  t.equal(lastWords('reading https://example.test/a/list: 403 Forbidden'), 'reading … 403 Forbidden')
  t.equal(lastWords(' \n'), 'without a word')
  t.ok(lastWords('x'.repeat(900)).length <= 300)
})

t.test('a peer is measured, or has a reason to be left out', async t => {
  for (const { name, isStarted } of peers) t.equal(name in starters, isStarted !== false, name)
  t.equal(new Set(peers.map(({ name }) => name)).size, peers.length)
})

const result = (changes: Partial<PeerResult>): PeerResult => ({
  requestsPerSecond: 1000,
  cpuMicros: 50,
  p50Ms: 1,
  p99Ms: 2,
  peakMegabytes: 3,
  loopP99Ms: Number.NaN,
  requests: 10,
  errors: 0,
  foreign: { before: [0.01, 0.02], during: [0, 0.03] },
  check: { body: 'same bytes', costHeader: null },
  timed: { answered: 10, rows: null, cutOffAtMost: 64 },
  counted: { answered: 5, rows: null, cutOffAtMost: 0 },
  ...changes,
})

t.test('the report has the ratios, the checks, other work, and each peer that was not measured', async t => {
  const kept = { timed: { answered: 10, rows: 9, cutOffAtMost: 0 }, counted: { answered: 5, rows: 5, cutOffAtMost: 0 } }
  const report: Report = {
    time: '2026-11-28T00:00:00.000Z',
    commit: 'abc',
    command: 'npm run bench:peers --',
    machine: { processor: 'one' },
    runs: 2,
    seconds: 3,
    warmSeconds: 1,
    peers: [
      { name: 'bare-undici', title: 'bare pass', does: 'passes on', version: '1' },
      { name: 'tollgate', title: 'Tollgate', does: 'all', version: '2' },
      { name: 'broken', title: 'Broken', does: 'fails', version: '3' },
      { name: 'absent', title: 'Absent', does: '', reason: 'no | package' },
    ],
    works: [
      {
        name: 'chat',
        title: 'chat',
        peers: {
          'bare-undici': result({}),
          tollgate: result({ cpuMicros: 100, ...kept, foreign: { before: [0], during: [0.5] } }),
          broken: result({ errors: 10, check: { body: 'failed with 500', costHeader: null } }),
        },
      },
    ],
  }
  const page = renderReport(report)
  t.match(page, '| bare pass | 50.0 | 1.00 | 2.00 | 1000 | 3.00 | 1.00 | 0.500 |')
  t.match(page, '| Tollgate | 100 | 1.00 | 2.00 | 1000 | 3.00 | 2.00 | 1.00 |')
  t.match(page, '| Broken | fails | – | – | – | – | – | – |')
  t.match(page, '| bare pass | same bytes | 0 of 10 | no | no record | ≤ 0.02, ≤ 0.03 |')
  t.match(page, '| yes | complete: 5 rows; timed: 1 of 10 rows lost | ≤ 0.00, ≤ 0.50 (**other work**) |')
  t.match(page, '| Absent | no \\| package |')
})
