import t from 'tap'
import { png } from '../harness/pictures.ts'
import { type Edits, start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

type Row = {
  readonly bar: number
  readonly what: string | null
  readonly charges: number
  readonly images: number
  readonly amount: string
  readonly refunded: string
  readonly net: string
}
type Costs = {
  readonly zone: string
  readonly bars: readonly string[]
  readonly rows: readonly Row[]
  readonly before: { readonly rows: readonly Row[] }
  readonly names: { readonly [id: string]: string }
}

const noLimits: Edits = [['default: { rpm: 60,', 'default: { rpm: 1000000,']]

t.test('costs over days of a zone, split, narrowed, given back, and of oneself alone', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'], edit: noLimits })
  const admin = await enterAsAdmin(started)
  const draw = async (width: number, height: number): Promise<string> => {
    started.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(width, height).toString('base64') }] })
    const answer = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  const small = await draw(1000, 1000)
  await draw(2000, 1000)
  await draw(2000, 1000)
  const ask = async (query: string): Promise<Costs> => (await admin.get(`/api/costs?${query}`)).body as Costs

  const all = await ask('')
  t.equal(all.zone, 'UTC')
  t.equal(all.bars.length, 30, 'thirty days')
  t.same(
    all.rows.map(({ bar, what, charges, images }) => ({ bar, what, charges, images })),
    [{ bar: 29, what: '', charges: 3, images: 3 }],
    'all of it today',
  )
  const byTier = await ask('by=tier')
  t.same(byTier.rows.map(({ what, charges }) => `${what} ${charges}`).toSorted(), ['1K 1', '2K 2'])
  const summed = byTier.rows.reduce((sum, { amount }) => sum + Number(amount), 0)
  t.equal(summed.toFixed(6), Number(all.rows[0]?.amount).toFixed(6), 'parts are the whole')
  const before = byTier.rows.find(({ what }) => what === '1K')
  t.equal((await admin.post(`/api/logs/${small}/refund`, { reason: 'too small' })).status, 200)
  const [after] = (await ask('by=tier&tier=1K')).rows
  t.same([after?.amount, after?.refunded, Number(after?.net)], [before?.amount, before?.amount, 0], 'given back')
  t.same((await ask('by=tier&model=none')).rows, [])

  const there = await ask('zone=Asia/Kolkata&step=hour&from=2026-11-21&to=2026-11-21')
  t.same([there.bars.length, there.bars[0]], [24, '2026-11-20T18:30:00.000Z'], 'hours of a day there')
  const spring = await ask('zone=Europe/Berlin&step=hour&from=2026-10-25&to=2026-10-25')
  t.equal(spring.bars.length, 25, 'a day that is longer')
  const months = await ask('step=month&from=2026-01-15&to=2026-03-02')
  t.same(months.bars, ['2026-01-15T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'])

  const byKey = await ask('by=key')
  const [id] = byKey.rows.map(({ what }) => what)
  t.equal(typeof byKey.names[id ?? ''], 'string', 'keys have names')
  const csv = await admin.get('/api/costs?by=tier&format=csv')
  t.match(csv.headers.get('content-type'), /^text\/csv/)

  for (const [query, why] of [
    ['zone=Mars/Base', /`zone` must be a time zone/],
    ['from=2026-02-30', /`from` must be a day/],
    ['from=2026-03-02&to=2026-03-01', /`from` must not be after `to`/],
    ['from=2020-01-01', /at most 400 days/],
    ['by=colour', /by/],
    ['where=x', /where/],
  ] as const) {
    const refused = await admin.get(`/api/costs?${query}`)
    t.equal(refused.status, 400, query)
    t.match(JSON.stringify(refused.body), why, caseName({ query, why }))
  }

  const user = await enterAsUser(started, admin, 'ada')
  t.same(((await user.get('/api/costs')).body as Costs).rows, [], 'nothing of others')
  t.equal((await user.get('/api/costs?user=local')).status, 403)
})
