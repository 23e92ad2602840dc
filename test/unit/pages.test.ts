import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Ajv } from 'ajv'
import t from 'tap'
import { errorShapes } from '../../src/admin/openapi/errors.ts'
import { findOperation } from '../../src/operations/index.ts'
import { pageRoutes } from '../../src/admin/pages/index.ts'
import { chooseLanguage } from '../../src/admin/pages/language.ts'
import type { Pages } from '../../src/admin/pages/page-data.ts'
import { apiFormats } from '../../src/api-formats/index.ts'
import { failures, type PricedModel, type TierReach } from '../../src/domain/index.ts'
import { listPrices, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

const shipped = resolve(import.meta.dirname, '../../gateway.yaml')

/** The pages as the server loads them, from the build. */
const built = new URL('../../dist/pages/index.js', import.meta.url)
const pages = (await import(built.href)) as Pages

/** The page of a list with one image model of that name, with tiers of these sizes. */
function renderModel(name: string, reaches: readonly TierReach[]): Promise<string> {
  const model: PricedModel = {
    name,
    family: 'a family',
    operations: [],
    free: false,
    notes: { en: [], zh: [] },
    images: {
      tiers: reaches.map((reach, i) => ({ tier: `${i + 1}K`, longEdgeMax: null, price: '0.02', reach })),
      tierFrom: ['output'],
      otherwise: '1K',
      sizes: [],
      labels: [],
    },
    units: [],
    overrides: [],
    times: [],
  }
  return pages.renderPricing(
    { language: 'en', list: { currency: 'USD', models: [model] }, calculation: undefined },
    nextTurn,
  )
}

t.test(
  '[10.3] the page of prices shows prices by several values, factors, and charges in addition to images',
  async t => {
    const model: PricedModel = {
      name: 'm-1',
      family: 'a family',
      operations: ['image.generate'],
      free: false,
      notes: { en: [], zh: [] },
      images: {
        tiers: ['low 1k', 'high 2k'].map(tier => ({ tier, longEdgeMax: null, price: '0.02', reach: { kind: 'yes' } })),
        tierFrom: ['told', 'output'],
        otherwise: 'high 2k',
        by: ['quality', 'tier'],
        times: [{ when: 'draft: true', by: '0.5' }],
        beside: [
          { name: 'first_megapixel', per: 'megapixel', unit: 1, price: '0.03', at: 'gateway.yaml:9', once: false },
        ],
        sizes: [],
        labels: [],
      },
      units: [],
      overrides: [],
      times: [],
    }
    const list = { currency: 'USD', models: [model] }
    const request = { model: 'm-1', operation: 'image.generate', size: '', n: '1', fields: { quality: 'ultra' } }
    const calculation = { request, result: { kind: 'refused', message: 'no price for quality ultra' } } as const
    const english = await pages.renderPricing({ language: 'en', list, calculation }, nextTurn)
    t.match(
      english,
      'The price of an image depends on its quality and tier; the tier is decided by what the response reports, or else by the returned image',
    )
    t.match(english, '× 0.5 where draft: true')
    t.match(english, /<th[^>]*>high 2k<\/th>/)
    t.match(english, /first_megapixel<\/th>.*megapixel.*for each image.*0\.03/s)
    t.match(english, /name="field\.quality" value="ultra"/)
    t.match(english, '<option value="low">')
    t.match(english, 'field.quality=ultra', 'the link to the other language keeps the query')
    const chinese = await pages.renderPricing({ language: 'zh', list, calculation }, nextTurn)
    t.match(chinese, '图片的价格由 quality 和 tier 决定；档位依据响应中的尺寸，其次为返回的图片。')
    t.match(chinese, /每张图片.*0\.03/s)
  },
)

t.test('[14.10] the page of prices shows the prices of text under conditions, and factors', async t => {
  const model: PricedModel = {
    name: 't-1',
    family: 'a family',
    operations: ['chat'],
    free: false,
    notes: { en: [], zh: [] },
    images: null,
    units: [{ unit: 'input', price: '0.5', per: 1_000_000 }],
    overrides: [
      { if: { input_above: 200_000 }, units: [{ unit: 'input', price: '4.44', per: 1_000_000 }] },
      {
        if: { service_tier: ['flex', 'batch'], days: 'mon-fri', hours: '00:00-08:00', zone: 'Asia/Shanghai' },
        units: [{ unit: 'web_search', price: '7', per: 1_000 }],
      },
    ],
    times: [{ if: { region: 'us', speed: 'fast', input_from: 9 }, by: '1.1' }],
  }
  const list = { currency: 'USD', models: [model] }
  const english = await pages.renderPricing({ language: 'en', list, calculation: undefined }, nextTurn)
  for (const row of [
    /Input tokens<.*?0\.5 .*?1M/s,
    /Input tokens<.*?more than 200,000 input tokens<.*?4\.44 .*?1M/s,
    /service tier flex or batch, on mon-fri, at 00:00-08:00, time zone Asia\/Shanghai<.*?Web searches <.*?7.*?1K/s,
    /region us, speed fast, at least 9 input tokens<.*?Token price factor × 1\.1/s,
  ])
    t.match(english, row, String(row))
  const chinese = await pages.renderPricing({ language: 'zh', list, calculation: undefined }, nextTurn)
  t.match(chinese, /输入超过 200,000 词元<.*?4\.44/s)
  t.match(chinese, /服务档位 flex 或 batch，星期 mon-fri，时段 00:00-08:00，时区 Asia\/Shanghai</)
  const plain = { ...model, overrides: [], times: [] }
  const without = await pages.renderPricing(
    { language: 'en', list: { ...list, models: [plain] }, calculation: undefined },
    nextTurn,
  )
  t.notMatch(without, /Condition<|condition/, 'no column and no text where nothing has conditions')
})

t.test('prices of many models are listed and rendered in steps, between which other pages are rendered', async t => {
  const text = await readFile(shipped, 'utf8')
  const many = Array.from(
    { length: 200 },
    (_, i) =>
      `  many-${i}: { family: ${i % 2 ? 'chat, upstream: text, prices: { input: "1" } }' : 'alpha-image, upstream: alpha, prices: { 1K: "1", 2K: "1", 4K: "1" } }'}\n`,
  )
  const loaded = await loadConfig({ file: shipped, text: text.replace(/^models:\n/m, start => start + many.join('')) })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings[0]))
  let turns = 0
  const count = (): void => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const list = await listPrices(loaded.plan)
  clearImmediate(counting)
  t.ok(turns > 20, `listed in ${turns} turns`)
  let pauses = 0
  const page = { language: 'en', list, calculation: undefined } as const
  const [english, chinese] = await Promise.all([
    pages.renderPricing(page, () => nextTurn(void pauses++)),
    pages.renderPricing({ ...page, language: 'zh' }, nextTurn),
  ])
  t.ok(pauses > 100, `rendered in ${pauses} steps`)
  for (const name of ['many-0', 'many-1', 'many-198', 'many-199']) t.match(english, name, name)
  t.match(english, 'Input tokens')
  t.notMatch(english, '图片档位', 'no step in the other language')
  t.notMatch(chinese, 'Input tokens')
})

t.test('prices that could not be listed or rendered are tried again', async t => {
  const loaded = await loadConfig(shipped)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings[0]))
  let fails = true
  const plan = new Proxy(loaded.plan, {
    get(whole, name, own) {
      if (fails && name === 'models') throw new Error('not yet')
      return Reflect.get(whole, name, own) as unknown
    },
  })
  await t.rejects(listPrices(plan), { message: 'not yet' })
  fails = false
  const page = { language: 'en', list: await listPrices(plan), calculation: undefined } as const
  await t.rejects(
    pages.renderPricing(page, () => Promise.reject(new Error('not yet'))),
    { message: 'not yet' },
  )
  t.match(await pages.renderPricing(page, nextTurn), 'sim-chat')
})

t.test('no input adds markup to a page', async t => {
  const hostile = `<a href="x" title='y'>&</a>`
  const page = await renderModel(hostile, [])
  t.notMatch(page, '<a href="x"')
  t.match(page, `id="m-&lt;a href=&quot;x&quot; title='y'>&amp;&lt;/a>"`, 'within a tag')
  t.match(page, `>&lt;a href=&quot;x&quot; title='y'>&amp;&lt;/a></h3>`, 'and between two')
})

t.test('characters that hide or reverse a text are displayed as escapes', async t => {
  for (const mark of ['\u202e', '\u200b', '\u2066', '\ufeff', '\u001b', '\u0000', '\u0085'])
    t.match(await renderModel(`a${mark}b`, []), '>a\ufffdb</h3>', caseName({ mark }))
  t.match(await renderModel('a\n\tb 中文 é', []), '>a\n\tb 中文 é</h3>')
})

t.test('a table omits empty columns, and labels each cell for screens that show it alone', async t => {
  const reason = { en: 'It never comes.', zh: '不会出现。' }
  const bare = await renderModel('a model', [{ kind: 'yes' }, { kind: 'yes' }])
  t.notMatch(bare, /Note/)
  t.match(bare, /<th role="rowheader" scope="row"[^>]*>1K<\/th><td role="cell" data-label="Long edge"/)
  const html = await renderModel('a model', [{ kind: 'yes' }, { kind: 'never', reason }])
  t.match(
    html,
    /<td role="cell" data-label="Note" class="wide vacant"><\/td>/,
    'a cell without a text is no line of a card',
  )
  t.match(html, /<td role="cell" data-label="Note" class="wide">It never comes\.<\/td>/)
})

t.test('without a build the pages report this, and the command to run', async t => {
  const parts = { pages: async () => undefined }
  for (const path of ['/pricing', '/docs']) {
    const route = pageRoutes([]).find(({ url }) => url === path)
    const answer = await route?.handle({ parts } as never)
    t.match(answer, { status: 503, body: /npm ci/ }, path)
  }
})

t.test('the language is the requested one, else the preferred one, else English', async t => {
  for (const [requested, accepted, chosen] of [
    ['zh', 'en', 'zh'],
    ['fr', 'zh', 'zh'],
    [undefined, undefined, 'en'],
    [undefined, 'zh-TW', 'zh'],
    [undefined, 'zho', 'en'],
    [undefined, 'en;q=0, zh', 'zh'],
    [undefined, 'zh;q=0', 'en'],
    [undefined, 'en;q=0.5,zh;q=0.5', 'en'],
    [undefined, 'zh;q=lots', 'en'],
    [['zh', 'en'], undefined, 'en'],
  ] as const)
    t.equal(chooseLanguage(requested, accepted), chosen, `${String(requested)} ${accepted}`)
})

t.test('the documented shape of an error matches its API format', async t => {
  const fail = failures({
    body_too_large: { status: 413, type: 'invalid_request_error', text: 'The body is too large.' },
  })
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  for (const style of ['openai', 'anthropic', 'google', 'cohere']) {
    const { body } = apiFormats.get(style)?.error(fail('body_too_large'), 'req_1') ?? {}
    const shape = errorShapes[style]
    t.ok(shape, style)
    t.ok(ajv.validate(shape ?? false, JSON.parse(String(body))), `${style}: ${ajv.errorsText()}`)
  }
})

t.test("in a sample a model's name stays one word of a shell and one string of a language", async t => {
  const model = `x'; rm -rf "$HOME" \`id\``
  const call = { baseUrl: 'http://127.0.0.1:8080', path: '/v1/images/edits', model }
  const [curl, python, node] = findOperation('image.edit')?.samples?.(call) ?? []
  t.match(curl?.source, `-F 'model=x'\\''; rm -rf "$HOME" \`id\`'`)
  for (const sample of [python, node])
    t.ok(sample?.source.includes(`${JSON.stringify(model)},`), sample?.label ?? 'no sample')
  t.match(
    findOperation('generate')?.samples?.({ ...call, path: '/v1/models/{model}:generateContent' })[0]?.source,
    /x'\\''%3B%20rm/,
  )
})

t.test('a tier that another source may determine is not called unreachable', async t => {
  const reaches = async (tierFrom: string, otherwise: string) => {
    const text = (await readFile(shipped, 'utf8')).replace('tier_from: [output]', `tier_from: ${tierFrom}`)
    const folder = t.testdir({ 'gateway.yaml': text.replace('otherwise: 2K', `otherwise: ${otherwise}`) })
    const loaded = await loadConfig(join(folder, 'gateway.yaml'), {})
    if (!loaded.ok) throw new Error('the configuration is not valid')
    const { models } = await listPrices(loaded.plan)
    return models.find(model => model.family === 'alpha-image')?.images?.tiers.map(tier => tier.reach.kind)
  }
  t.strictSame(await reaches('[output]', '2K'), ['never', 'yes', 'rare'])
  t.strictSame(await reaches('[output]', '1K'), ['yes', 'yes', 'rare'], 'an image that cannot be read is 1K')
  t.strictSame(await reaches('[output, request]', '2K'), ['yes', 'yes', 'yes'])
})
