import { glob, readFile } from 'node:fs/promises'
import t from 'tap'
import { describeMismatch } from '../../plugins/image-tier-billing/mismatch.ts'
import { reasons } from '../../src/admin/reasons.ts'
import { ApiError, call } from '../../src/console/api/call.ts'
import { prefetch } from '../../src/console/api/prefetch.ts'
import chinese from '../../src/console/words/zh.json' with { type: 'json' }
import english from '../../src/console/words/en.json' with { type: 'json' }
import chinesePages from '../../src/console/words/prerendered/zh.json' with { type: 'json' }
import { language, speakWith, t as say } from '../../src/console/words/index.ts'
import { tFailure, tFailureValues } from '../../src/console/words/failure.ts'
import { tSettingChange } from '../../src/console/words/setting-change.ts'
import { valueText } from '../../src/console/pages/audit/value-text.ts'
import { compareSettings } from '../../src/config/compare-settings.ts'
import { tWarning } from '../../src/console/words/warning.ts'
import { periodText } from '../../src/console/words/period.ts'
import { tFactors, tKeptRule, tReason, tWhy } from '../../src/console/words/why.ts'
import { tMismatch } from '../../src/console/words/mismatch.ts'
import type { SizeMismatch } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { readErrorTables } from '../house/errors-page.ts'

const han = /\p{Script=Han}/u
const placesIn = (text: string) => new Set(text.match(/\{\w+\}/g))

t.test("every reason of a refusal has words in both languages, with the reason's values", async t => {
  for (const words of [english, chinese] as const)
    for (const [reason, text] of Object.entries(reasons)) {
      const sentence = (words as { readonly [word: string]: string })[`refusal.${reason}`]
      t.ok(sentence, reason)
      for (const place of placesIn(sentence ?? '')) t.ok(placesIn(text).has(place), `${reason} ${place}`)
    }
  const known = new Set(Object.keys(reasons).map(reason => `refusal.${reason}`))
  const listed = Object.keys(english).filter(word => word.startsWith('refusal.'))
  t.strictSame(
    listed.filter(word => !known.has(word)),
    [],
    'and no others have',
  )
  t.equal(new ApiError(400, 'invalid', '', { reason: 'missing', values: { field: 'name' } }).reason, 'missing')
})

/** Codes of refusals before the model or the caller is known: such requests have no row in the log. */
const unlogged = new Set(
  `path_invalid not_found method_not_allowed connect_unsupported request_malformed request_too_slow headers_too_large
  chunk_extensions_too_large expectation_unsupported http_version_unsupported header_duplicate header_invalid
  too_many_headers draining`.split(/\s+/),
)
/** Codes for which the log keeps more values than their text shows. */
const keptToo: { readonly [code: string]: readonly string[] } = {
  rate_limit_exceeded: ['{counts}', '{of}'],
  insufficient_quota: ['{budget}'],
}

t.test('every error of a log row has words in both languages', async t => {
  const texts = new Map<string, string>()
  for (const table of (await readErrorTables()).values())
    for (const [code, { text }] of Object.entries(table)) texts.set(code, text)
  t.ok(texts.size > 80, 'the tables are read')
  for (const words of [english, chinese] as const)
    for (const [code, text] of texts) {
      const sentence = (words as { readonly [word: string]: string })[`failure.${code}`]
      t.equal(sentence === undefined, unlogged.has(code), `failure.${code} has words, or is listed as of no row`)
      const kept = new Set([...placesIn(text), ...(keptToo[code] ?? [])])
      for (const place of placesIn(sentence ?? '')) t.ok(kept.has(place), `${code} ${place}`)
    }
  for (const code of unlogged) t.ok(texts.has(code), `${code} is in a table`)
})

t.test('an error is shown from its stored values, never as a sentence with gaps', async t => {
  speakWith('zh', chinese)
  for (const [code, values, sentence] of [
    ['invalid_n', { field: 'n', max: 10, value: '128' }, '字段 n 应为 1 到 10 的整数，实际为 128。'],
    ['storage_unavailable', null, chinese['failure.storage_unavailable']],
    ['invalid_n', null, undefined],
    ['of_another_plugin', { n: 1 }, undefined],
  ] as const)
    t.equal(tFailure(code, tFailureValues(values)), sentence, caseName({ code, values }))
  speakWith('en', english)
})

t.test('stored warnings are shown in Chinese, by their facts', async t => {
  speakWith('zh', chinese)
  const facts = { asked: '3840x2160', billed: '4K', made: '2K', cheaper: null }
  const mismatches: readonly SizeMismatch[] = [
    { ...facts, kind: 'ignored', returned: '1672x941', billed: '2K' },
    { ...facts, kind: 'dearer', returned: '2816x1584', cheaper: '2048x1152' },
    { ...facts, kind: 'dearer', returned: null, cheaper: '2048x1152' },
    { ...facts, kind: 'other', returned: '2816x1584' },
  ]
  for (const mismatch of mismatches)
    t.equal(tWarning(describeMismatch(mismatch, 'beta-image')), tMismatch(mismatch), caseName({ mismatch }))
  for (const text of [
    'this is the price of the images; other usage of the request, if it is charged, is charged as req_1-use',
    'this is the price of the images; other usage of the request is charged as req_1-use',
    'the prices for input_above 200000 apply',
    'times 1.8 for service_tier priority',
    "charged by usage; the hold is the maximum that the request allows: 12 input 0.000006, 256 output 0.000384, times the group's multiplier",
    'this is the price of the images; what else the request used is charged as req_1-use',
    'size 2048x2048 is billed 2K by the requested size, although the image that comes back is 1x1 (1K by its long edge)',
    'charged by what is used; the hold is the most that the request allows: 3 character 0.000045, times 0.5 included',
    'charged by usage; the hold is the maximum that the request allows: 3 character 0.000045, times 0.5 included',
  ])
    t.match(tWarning(text), han, text)
  t.equal(tWarning('what a plugin of somebody else says'), undefined)
  speakWith('en', english)
  t.equal(language.value, 'en')
  t.equal(tWarning(describeMismatch({ ...facts, kind: 'other', returned: '1x1' }, 'f')), undefined, 'their own words')
})

t.test("usage and the reason for a charge's end are shown in Chinese", async t => {
  speakWith('zh', chinese)
  const line = {
    tier: 'input',
    source: 'output',
    quantity: 7,
    size: null,
    flags: [],
    width: null,
    height: null,
  } as const
  const row = { tier: 'input', long_edge_max: null, price: '0.50', per: 1_000_000, at: 'gateway.yaml:3' }
  const rule = { kind: 'usage', text: '', rows: [row], multiplier: 'group multiplier ×0.9' }
  const item = { ...line, index: 0, price: '0', at: null, why: '7 input tokens × 0.50 / 1M × 0.9' }
  t.equal(tWhy({ size: null, rule }, item), '7 输入词元 × 0.50 / 100万 × 0.9')
  t.equal(
    tWhy({ size: null, rule }, { ...item, source: 'default', why: '7 input tokens (estimated) × 0.50 / 1M' }),
    '7 输入词元（估算）× 0.50 / 100万',
  )
  const spoken = { ...item, tier: 'second', quantity: 90, why: '90 seconds × 0.006 / minute × 0.9' }
  const perMinute = { ...rule, rows: [{ ...row, tier: 'second', price: '0.006', per: 60 }] }
  t.equal(tWhy({ size: null, rule: perMinute }, spoken), '90 秒 × 0.006 / 分钟 × 0.9')
  const rows = [
    row,
    { ...row, tier: 'output', price: '1.50' },
    { ...row, tier: 'web_search', price: '10.00', per: 1_000 },
  ]
  const all = { ...rule, rows, multiplier: 'group multiplier ×2, service_tier flex ×0.5' }
  const reasoned = '50 reasoning tokens × 1.50 / 1M (the price of output tokens) × 2 × 0.5'
  t.equal(
    tWhy({ size: null, rule: all }, { ...item, tier: 'reasoning', quantity: 50, why: reasoned }),
    '50 推理词元 × 1.50 / 100万（按输出词元的价格） × 2 × 0.5',
  )
  t.equal(
    tWhy(
      { size: null, rule: all },
      { ...item, tier: 'web_search', quantity: 2, why: '2 web searches × 10.00 / 1K × 2' },
    ),
    '2 网页搜索 × 10.00 / 1000 × 2',
  )
  t.equal(tFactors(all.multiplier), '分组倍率 ×2, service_tier flex ×0.5')
  const decided = { ...item, tier: 'decided', why: 'decided by a person: seen in the bucket' }
  t.equal(tWhy({ size: null, rule }, decided), '由人工决定：seen in the bucket')
  const kept = { kind: 'cached_response', text: '', rows: [], multiplier: '' }
  const hit = (why: string) => tWhy({ size: null, rule: kept }, { ...item, tier: kept.kind, quantity: 1, why })
  t.equal(hit('1 cached response, free'), '1 个缓存响应，免费')
  t.equal(hit('1 cached response: 0.01 + 0.40 × 0.10 = 0.05'), '1 个缓存响应：0.01 + 0.40 × 0.10 = 0.05')
  t.equal(
    tKeptRule('a cached response, made by req_1 for 0.000007'),
    '缓存响应，来自请求 req_1，当时的费用为 0.000007。',
  )
  t.equal(periodText({ per: 'month', resets_on: 15 }), '每月，从 15 日起')
  t.equal(periodText({ per: 'week', resets_on: 'friday' }), '每周，从周五起')
  t.equal(tReason('answer_unrecognised: data.0.b64'), '响应的格式未知：data.0.b64')
  t.equal(tReason('what a person wrote: this'), 'what a person wrote: this')
  t.equal(tReason('unpriced: input_audio, web_search'), '所用项目没有单独的价格：音频输入词元、网页搜索')
  speakWith('en', english)
  t.equal(tWhy({ size: null, rule }, item), item.why)
  const ticket = { ...decided, why: 'decided by a person: ticket 12345' }
  t.equal(
    tWhy({ size: null, rule: { ...rule, kind: 'usage' } }, ticket),
    ticket.why,
    'their number is as they wrote it',
  )
  t.equal(tReason('caller_gone'), 'The client disconnected')
})

t.test('Chinese texts have Chinese punctuation', async t => {
  const half = /['"`]|\p{Script=Han}\s*[,;:!()]|[,;:!()]\s*\p{Script=Han}|\p{Script=Han}\.(?:\s|$)|[.]{3}/u
  for (const words of [chinese, chinesePages])
    for (const [word, text] of Object.entries(words)) if (han.test(text)) t.notMatch(text, half, word)
  for await (const file of glob('src/console/**/*.{ts,tsx}')) {
    // Lines of YAML.
    if (file.endsWith('value-lines.ts')) continue
    const source = await readFile(file, 'utf8')
    t.notMatch(source, /\$\{[^`]*\}: \$\{|join\('; '\)/, `${file}: t('colon') and t('edit.and')`)
  }
})

t.test('the console addresses people in one form', async t => {
  for (const [word, text] of Object.entries(chinese)) t.notMatch(text, /您/, word)
})

t.test('configuration changes are shown in the chosen language, and in English as the gateway writes them', async t => {
  const model = (price: string) => ({ 'models.a.prices.1K': price, currency: 'USD' })
  const rows: readonly (readonly [line: string, told: string])[] = [
    ['price of alpha-image-2 2K: 0.04 USD → 0.05 USD', 'alpha-image-2 2K 的价格：0.04 USD → 0.05 USD'],
    ['price of a 1K: none → 0.01 USD', 'a 1K 的价格：无 → 0.01 USD'],
    ['price of a: now free', 'a 的价格：改为免费'],
    ['model a added (1K 0.01 USD)', '新增模型 a（1K 0.01 USD）'],
    ['model a removed', '移除模型 a'],
    ['upstreams.extra.url: absent → https://a.example', 'upstreams.extra.url：未设置 → https://a.example'],
    ['upstreams.extra.credential.secret: changed', 'upstreams.extra.credential.secret：已更改'],
  ]
  speakWith('zh', chinese)
  for (const [line, sentence] of rows) t.equal(tSettingChange(line), sentence, line)
  const made = [
    ...compareSettings(model('1'), model('2')),
    ...compareSettings({}, model('2')),
    ...compareSettings(model('2'), {}),
  ]
  for (const line of made) t.match(tSettingChange(line), /的价格：|模型|：未设置|→ 未设置/, line)
  speakWith('en', english)
  for (const [line] of rows) t.equal(tSettingChange(line), line, line)
})

t.test('changes in the audit log are shown part by part', async t => {
  const limits = { rpm: 60, tpm: null, concurrency: 3 }
  speakWith('en', english)
  for (const [name, value, shown] of [
    ['limits', limits, 'Requests per minute 60 · Concurrent requests 3'],
    ['models', ['a', 'b'], 'a, b'],
    ['models', [], '–'],
    ['limits', null, '–'],
    ['role', 'admin', english['role.admin']],
    ['name', 'none', 'none'],
    ['changes', ['group ada is new'], 'group ada is new'],
  ] as const)
    t.equal(valueText(name, value), shown, caseName({ name, value: JSON.stringify(value) }))
  speakWith('zh', chinese)
  t.match(valueText('limits', limits), /^\D+ 60 · \D+ 3$/)
  t.match(valueText('limits', limits), han)
  speakWith('en', english)
})

t.test('a count of one uses the singular', async t => {
  speakWith('en', english)
  t.equal(say('costs.before', { amount: '0.04', days: '1' }), '0.04 in the 1 day before')
  t.equal(say('costs.before', { amount: '0.04', days: '1,000' }), '0.04 in the 1,000 days before')
  t.match(say('avoidable.row', { images: 1 }), /^1 image requested at .* was billed as/)
  t.match(say('avoidable.row', { images: 2 }), /^2 images requested at .* were billed as/)
  t.equal(say('system.writes.text', { changes: 1, rows: 0, charges: 1 }), '1 change, 0 log rows, 1 charge')
  for (const [word, text] of Object.entries(english))
    if (!word.startsWith('refusal.range'))
      t.notMatch(text, /\{(?:count|days|images|charges|rows|changes|keys|waiting)\} [a-z]+s\b/, word)
})

t.test('an unusable answer is an error of the request, not of the page', async t => {
  for (const [status, body] of [
    [200, 'null'],
    [200, '7'],
    [200, '<!doctype html>'],
    [200, ''],
    [502, 'null'],
    [502, '<h1>Bad gateway</h1>'],
  ] as const) {
    t.intercept(globalThis, 'fetch', { value: async () => new Response(body, { status }) })
    await t.rejects(call('/costs'), { status, code: 'unexpected' }, caseName({ status, body }))
  }
})

t.test('an early answer that arrives after its filter has changed is dropped', async t => {
  const body = new TransformStream<Uint8Array, Uint8Array>()
  t.capture(globalThis, 'fetch', () => Promise.resolve(new Response(body.readable)))
  await prefetch('/api/costs')
  const filter = new AbortController()
  const answer = call('/costs', { signal: filter.signal })
  const writer = body.writable.getWriter()
  await writer.write(Buffer.from('{"totals":'))
  filter.abort()
  await writer.write(Buffer.from('[]}'))
  await writer.close()
  await t.rejects(answer, { name: 'AbortError' })
})
