import t from 'tap'
import { sumLatency } from '../../src/storage/journal/latency.ts'
import { countSteps } from '../../src/storage/journal/steps.ts'
import { summarize } from '../../src/storage/journal/summary.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import { kindOfRow, type LatencyRow, type LogRow } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { minute, noon, open, rowAt, write } from '../harness/log-batches.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

t.setTimeout(120_000)

/** The exact values, from every row. */
function exact(rows: readonly LogRow[]): ReadonlyMap<string, readonly number[]> {
  const groups = Map.groupBy(rows, row => JSON.stringify([kindOfRow(row), row.model, row.operation]))
  return new Map([...groups].map(([name, own]) => [name, own.map(row => row.durationMs).sort((a, b) => a - b)]))
}

const isNear = (found: number | null, wanted: number): boolean =>
  found !== null && found >= wanted && found <= Math.max(wanted * 1.11, wanted + 1)

t.test('latencies of bound and loose pages equal those of the rows, within 10 %', async t => {
  const connection = open(t)
  const rows = Array.from({ length: 900 }, (_, i) => rowAt(noon + i * 1_000, i, { durationMs: (i * 7_919) % 40_000 }))
  write(connection, rows, 11, new UncompactedBatches(100))
  const all = connection.run(sumLatency({ since: 0, until: noon + 100 * minute }))
  const wanted = exact(rows)
  t.equal(all.length, wanted.size)
  for (const { kind, model, operation, requests, p50Ms, p95Ms } of all) {
    const of = wanted.get(JSON.stringify([kind, model, operation])) ?? []
    const at = (share: number): number => of[Math.ceil(of.length * share) - 1] ?? Number.NaN
    t.equal(requests, of.length, caseName({ kind, model }))
    t.ok(isNear(p50Ms, at(0.5)), `${kind} ${model}: p50 ${p50Ms} for ${at(0.5)}`)
    t.ok(isNear(p95Ms, at(0.95)), `${kind} ${model}: p95 ${p95Ms} for ${at(0.95)}`)
  }
  const own = connection.run(sumLatency({ since: noon + minute, until: noon + 5 * minute, user: 'ada' }))
  const ofAda = rows.filter(row => row.user === 'ada' && row.time >= noon + minute && row.time < noon + 5 * minute)
  t.equal(
    own.reduce((sum, { requests }: LatencyRow) => sum + requests, 0),
    ofAda.length,
  )
  // Pages of earlier versions do not have these counts.
  connection.db.exec(`UPDATE log_page SET sums = json_remove(sums, '$.spans') WHERE sums IS NOT NULL`)
  t.same(connection.run(sumLatency({ since: 0, until: noon + 100 * minute })), all)
})

t.test('requests, refusals and look-ups are separate, and users see their own', async t => {
  const started = await start(t, { upstreams: ['text'] })
  const { upstream, post, get, settled } = started
  const admin = await enterAsAdmin(started)
  const user = await enterAsUser(started, admin, 'ben')
  upstream.answer({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  await (await post('/v1/chat/completions', { model: 'sim-chat', messages: [] })).text()
  await (await post('/v1/chat/completions', { model: 'none', messages: [] })).text()
  await (await get('/v1/models')).text()
  await settled()
  const { rows } = (await admin.get('/api/latency')).body as { rows: readonly { kind: string; model: string | null }[] }
  t.strictSame(rows.map(({ kind, model }) => `${kind} ${model}`).sort(), [
    'call sim-chat',
    'lookup null',
    'refusal null',
  ])
  t.ok(rows.every(row => 'first_byte_p50_ms' in row))
  t.strictSame(((await user.get('/api/latency')).body as { rows: unknown[] }).rows, [])
  t.equal((await admin.get('/api/latency?since=2020-01-01T00:00:00Z')).code, 'invalid')
})

t.test('look-ups are in no sum and no chart, but in the log', async t => {
  const started = await start(t, { upstreams: ['text'] })
  const { upstream, post, get, settled } = started
  const admin = await enterAsAdmin(started)
  upstream.answer({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  await (await post('/v1/chat/completions', { model: 'sim-chat', messages: [] })).text()
  for (let i = 0; i < 5; i++) await (await get('/v1/models')).text()
  await settled()
  t.match((await admin.get('/api/logs')).body, { records: { length: 6 } })
  t.match((await admin.get('/api/overview')).body, { requests: 1, steps: [{ requests: 1 }] })
  t.match((await admin.get('/api/logs/histogram')).body, { steps: [{ requests: 1 }] })
  t.match((await admin.get('/api/logs/totals')).body, { requests: 1, charges: 1 })
  // A query by their operation includes them in its counts.
  t.match((await admin.get('/api/logs/histogram?operation=models.list')).body, { steps: [{ requests: 5 }] })
  t.match((await admin.get('/api/logs/totals?operation=models.list')).body, { requests: 5 })
})

t.test('sums of bound pages exclude look-ups, whether or not they were counted separately', async t => {
  const connection = open(t)
  const lookup = {
    model: null,
    upstream: null,
    status: 200,
    outcome: 'answered',
    errorCode: null,
    inputTokens: null,
    outputTokens: null,
  } as const
  const rows = Array.from({ length: 600 }, (_, i) =>
    rowAt(noon + i * 1_000, i, {
      ...(i % 2 ? lookup : { upstream: 'one' }),
      durationMs: i % 2 ? 1 : 1_000 + (i % 100),
    }),
  )
  write(connection, rows, 11, new UncompactedBatches(100))
  const span = { since: 0, until: noon + 100 * minute }
  const count = rows.filter(row => kindOfRow(row) !== 'lookup').length
  const look = () => ({
    summary: connection.run(summarize(span)),
    steps: connection.run(countSteps({ ...span, lookups: false }, 3_600_000)),
    all: connection.run(countSteps(span, 3_600_000)),
  })
  const { summary, steps, all } = look()
  t.equal(summary.requests, count)
  t.ok(isNear(summary.p50Ms, 1_050), `a lookup takes 1 ms, and p50 is ${summary.p50Ms}`)
  t.same(
    steps.map(step => step.requests),
    [count],
  )
  t.same(
    all.map(step => step.requests),
    [600],
  )
  connection.db.exec(`UPDATE log_page SET sums = json_remove(sums, '$.spans') WHERE sums IS NOT NULL`)
  t.same(look(), { summary, steps, all })
})
