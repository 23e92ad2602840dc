import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { holdOf, newKey } from '../contract/storage.ts'

const path = '/v1/images/generations'

/** The value of one series; NaN if it does not exist. */
function valueOf(text: string, series: string): number {
  const line = text.split('\n').find(one => one.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

t.test('metrics report images, money, limits and upstreams', async t => {
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
    const pending = post(path, { model: 'alpha-image-2', prompt: 'a' })
    await came.promise
    const during = await scrape()
    t.equal(valueOf(during, 'tollgate_holds_open'), 1)
    t.ok(valueOf(during, 'tollgate_held_micros{currency="USD"}') > 0)
    go.resolve()
    await pending
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
      // A busy machine may add a series for a long turn of the event loop.
      return (await scrape()).split('\n').filter(line => /^(?!#|tollgate_long_turns_total)./.test(line)).length
    }
    await post(path, { model: 'made-up', prompt: 'a' })
    const before = await series()
    for (let i = 0; i < 50; i++) await post(path, { model: `made-up-${i}`, prompt: 'a' })
    t.equal(await series(), before)
  })
})

t.test('models and groups have separate series if configured', async t => {
  const { opsUrl, upstreams, post, settled } = await start(t, {
    edit: [['\nserver:\n', '\nobservability: { metrics: { by: [model, group] } }\nserver:\n']],
  })
  const answer = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }
  upstreams['text']?.answer(answer)
  upstreams['alpha']?.answer({ data: [picture(1024, 1024)] })
  await post('/v1/chat/completions', { model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] })
  await post(path, { model: 'alpha-image-2', prompt: 'a' })
  await post('/v1/chat/completions', { model: 'made-up', messages: [] })
  await settled()
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  for (const [series, value] of [
    ['tollgate_model_request_duration_seconds_count{model="sim-chat",operation="chat"}', 1],
    ['tollgate_model_first_byte_seconds_count{model="alpha-image-2",operation="image.generate"}', 1],
    ['tollgate_group_requests_total{group="default",model="sim-chat",outcome="answered"}', 1],
    ['tollgate_group_tokens_total{group="default",model="sim-chat",direction="output"}', 4],
    ['tollgate_group_charged_micros_total{group="default",model="alpha-image-2",currency="USD"}', 20_000],
  ] as const)
    t.equal(valueOf(text, series), value, series)
  t.notMatch(text, /made-up/)
})

t.test('the exposition follows Prometheus conventions, and HEAD works', async t => {
  const { opsUrl, upstreams, post, settled } = await start(t, {
    edit: [['\nserver:\n', '\nobservability: { metrics: { by: [model, group] } }\nserver:\n']],
  })
  upstreams['alpha']?.answer({ data: [picture(1024, 1024)] })
  await post(path, { model: 'alpha-image-2', prompt: 'a' })
  await settled()
  const response = await fetch(`${opsUrl}/metrics`)
  const text = await response.text()
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const help = new Set([...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name = '']) => name))
  t.ok(types.size > 40)
  for (const [name, type] of types) {
    t.ok(help.has(name), caseName({ name, has: 'a help text' }))
    t.equal(name.endsWith('_total'), type === 'counter', caseName({ name, type }))
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{([^}]*)\}/gm)) {
    const own = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label)
    if (own.includes('quantile')) t.equal(types.get(name), 'summary', caseName({ name, label: 'quantile' }))
    if (own.includes('le'))
      t.equal(types.get(name.replace(/_bucket$/, '')), 'histogram', caseName({ name, label: 'le' }))
  }
  const head = await fetch(`${opsUrl}/metrics`, { method: 'HEAD' })
  t.match(head, { status: 200 })
  t.equal(head.headers.get('content-type'), response.headers.get('content-type'))
  t.equal((await fetch(`${opsUrl}/reload`, { method: 'HEAD' })).status, 405, 'only what may be read')
})
