import t from 'tap'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { holdOf, newKey } from '../contract/storage.ts'

const path = '/v1/images/generations'

/** The value of one series; NaN where it is not there. */
function valueOf(text: string, series: string): number {
  const line = text.split('\n').find(one => one.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

t.test('metrics report outcomes of images, money, limits and upstreams', async t => {
  const { gateway, opsUrl, upstreams, post, settled } = await start(t, {
    edit: [
      [
        /default: \{ rpm: 60, (.*?), concurrency: 32 \}/,
        'default: { rpm: 8, $1, concurrency: 50, shadow: [concurrency] }',
      ],
    ],
  })
  const scrape = async (): Promise<string> => (await fetch(`${opsUrl}/metrics`)).text()
  const alpha = upstreams['alpha']

  await t.test('images by tier and source, with other sizes than requested, and unreadable ones', async t => {
    alpha?.answer({ data: [picture(1672, 941), { b64_json: 'bm90aGluZyBsaWtlIGFuIGltYWdl' }] })
    await post(path, { model: 'alpha-image-2', prompt: 'a', size: '3840x2160', n: 2 })
    await settled()
    const text = await scrape()
    const expected: readonly (readonly [series: string, value: number])[] = [
      ['tollgate_images_total{model="alpha-image-2",tier="2K",source="output"}', 1],
      ['tollgate_images_total{model="alpha-image-2",tier="2K",source="default"}', 1],
      ['tollgate_size_differs_total{model="alpha-image-2"}', 1],
      ['tollgate_line_flags_total{model="alpha-image-2",flag="undecodable"}', 1],
      ['tollgate_charged_micros_total{model="alpha-image-2",currency="USD"}', 80_000],
      ['tollgate_holds_open', 0],
      ['tollgate_storage_up', 1],
      ['tollgate_counters_up', 1],
      ['tollgate_upstream_up{upstream="alpha"}', 1],
      ['tollgate_storage_commit_seconds_count{change="hold"}', 1],
      ['tollgate_limit_decisions_total{limit="user_rpm",decision="admitted"}', 1],
    ]
    for (const [series, value] of expected) t.equal(valueOf(text, series), value, series)
    t.match(text, /^tollgate_build_info\{version="[^"]+",node="v24/m)
  })

  await t.test('holds of current requests, and of charges in review', async t => {
    const go = Promise.withResolvers<void>()
    const came = Promise.withResolvers<void>()
    alpha?.answer(async (_res, _got, req) => {
      came.resolve()
      await go.promise
      req.socket.resetAndDestroy()
    })
    const asked = post(path, { model: 'alpha-image-2', prompt: 'a' })
    await came.promise
    const during = await scrape()
    t.equal(valueOf(during, 'tollgate_holds_open'), 1)
    t.ok(valueOf(during, 'tollgate_held_micros{currency="USD"}') > 0)
    go.resolve()
    await asked
    await settled()
    const after = await scrape()
    t.equal(valueOf(after, 'tollgate_holds_open'), 0)
    t.equal(valueOf(after, 'tollgate_held_micros{currency="USD"}'), 0)
    t.equal(valueOf(after, 'tollgate_charges_needing_review'), 1)
    t.equal(valueOf(after, 'tollgate_review_held_micros{currency="USD"}'), 0)
  })

  await t.test('[6.2] holds of charges in review, in metrics and status', async t => {
    const { ledger, keys } = gateway.storage
    const request = holdOf(await keys.create(newKey()), 40_000)
    await ledger.hold(request)
    await ledger.review(request.facts.id, 'answer_unknown', { hold: 'kept' })
    const text = await scrape()
    t.equal(valueOf(text, 'tollgate_charges_needing_review'), 2)
    t.equal(valueOf(text, 'tollgate_review_held_micros{currency="USD"}'), 40_000)
    t.equal(valueOf(text, 'tollgate_held_micros{currency="USD"}'), 0)
    t.match(await (await fetch(`${opsUrl}/status`)).json(), {
      reviews: { count: 2, held: [{ currency: 'USD', amount: '0.04' }] },
    })
  })

  await t.test('a paused upstream, and limits that refuse', async t => {
    alpha?.answer(res => void res.writeHead(503).end())
    for (let i = 0; i < 8; i++) await post(path, { model: 'alpha-image-2', prompt: 'a' })
    await settled()
    const text = await scrape()
    t.equal(valueOf(text, 'tollgate_upstream_up{upstream="alpha"}'), 0)
    t.ok(valueOf(text, 'tollgate_upstream_cooldown_seconds{upstream="alpha"}') > 0)
    t.equal(valueOf(text, 'tollgate_limit_decisions_total{limit="user_rpm",decision="refused"}'), 2)
    t.equal(valueOf(text, 'tollgate_limit_decisions_total{limit="user_rpm",decision="admitted"}'), 8)
  })

  await t.test('client-chosen names create no series [X9]', async t => {
    const series = async (): Promise<number> => {
      await settled()
      return (await scrape()).split('\n').filter(line => line !== '' && !line.startsWith('#')).length
    }
    await post(path, { model: 'made-up', prompt: 'a' })
    const before = await series()
    for (let i = 0; i < 50; i++) await post(path, { model: `made-up-${i}`, prompt: 'a' })
    t.equal(await series(), before)
  })
})
