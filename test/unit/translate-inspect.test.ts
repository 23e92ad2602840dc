import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { inspect } from '../../plugins/translate/inspect.ts'
import { facetSchema, type TranslateFacet } from '../../plugins/translate/schema.ts'
import { loadConfig } from '../../src/index.ts'
import type { Family, ForwardRule, Model } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { someTarget } from '../harness/request-context.ts'
import { editShipped } from '../harness/project.ts'

const admits = new Ajv({ useDefaults: true, allowUnionTypes: true, formats: { duration: true, bytes: true } })
for (const name of ['host-pattern', 'header-name', 'header-value']) admits.addFormat(name, true)
const fits = admits.compile<TranslateFacet>(facetSchema)

/** Flow mappings of YAML, so that a row reads as an operator would write it; null removes a member from the base. */
function facetOf(more: string): TranslateFacet {
  const base = {
    request: { prompt: '{prompt}', n: '{n}', pictures: ['{image.url}'], shape: '{ratio}', size: '{resolution}' },
    answer: { at: 'data', picture: 'url' },
  }
  const whole = { ...base, ...(parse(`{ ${more} }`) as object) }
  const facet = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null))
  if (!fits(facet)) throw new Error(`${more}: ${JSON.stringify(fits.errors)}`)
  return facet
}

function only(...names: readonly string[]): ForwardRule {
  return { kind: 'only', names: new Set(names) }
}

const snap = { rule: 'snap', applies_to: ['image.generate', 'image.edit'] }

function familyOf(more: Partial<Family> = {}): Family {
  return {
    ...someTarget().family,
    nMax: 4,
    facets: new Map<string, unknown>([
      ['size-normalize', snap],
      ['prices', { price_by: ['quality'], lines: [{ per: 'step', from: 'steps' }], times: [{ if: { speed: 1 } }] }],
    ]),
    forward: new Map([
      ['image.generate', only('model', 'prompt', 'n', 'size')],
      ['image.edit', only('model', 'prompt', 'n', 'size', 'image', 'images')],
    ]),
    ...more,
  }
}

function modelOf(family: Family): Model {
  const origin = { file: 'gateway.yaml', line: 1, col: 1 }
  return { ...someTarget().model, family, free: false, prices: new Map([['refusal', { micros: 5, origin }]]) }
}

function found(more: string, family = familyOf()): readonly string[] {
  return inspect(facetOf(more), family, [modelOf(family)]).map(({ code, path, severity }) => {
    return `${severity === 'note' ? 'note ' : ''}${code} ${path.join('.')}`
  })
}

const job = 'id: id, state: status, done: [Ready], failed: [Error]'
const poll = 'poll: { path: "/tasks/{id}" }'

type Row = readonly [wrong: string, finding: string]

const answers: readonly Row[] = [
  ['answer: { at: data }', 'picture_missing answer'],
  ['answer: [{ at: data, picture: url }, { at: other }]', 'picture_missing answer.1'],
  ['answer: { at: data..items, picture: url }', 'path_unfit answer.at'],
  ['answer: { at: data., picture: url }', 'path_unfit answer.at'],
  ['answer: { at: "data[0]", picture: url }', 'path_unfit answer.at'],
  ['answer: { at: "data[*]", picture: url }', 'path_unfit answer.at'],
  ['answer: { at: $.data, picture: url }', 'path_unfit answer.at'],
  ['answer: { at: data.*, picture: url }', 'path_unfit answer.at'],
  ['answer: { at: data, picture: [url, .b64] }', 'path_unfit answer.picture.1'],
  ['answer: { at: data, picture: url, size: [w, h, d] }', 'size_unfit answer.size'],
  ['answer: { at: data, picture: url, skip_if: { a..b: true } }', 'path_unfit answer.skip_if.a..b'],
  ['answer: { at: data, picture: url, keep_if: { type: [] } }', 'condition_empty answer.keep_if.type'],
  ['answer: { at: data, picture: url, text: { revised_prompt: . } }', 'path_unfit answer.text.revised_prompt'],
  ['answer: [{ at: data, picture: url }, { at: data, picture: url }]', 'place_repeated answer.1'],
  ['facts: { quality: header.X-Quality }', 'path_unfit facts.quality'],
  ['usage: { input_tokens: . }', 'path_unfit usage.input_tokens'],
  ['count: usage..n', 'path_unfit count'],
  ['cost: { at: . }', 'path_unfit cost.at'],
  ['errors: { message: [error.message, "errors[0]"] }', 'path_unfit errors.message.1'],
  ['refused: [{ if: { a.: any } }]', 'path_unfit refused.0.if.a.'],
  ['refused: [{ if: { a: any }, message: . }]', 'path_unfit refused.0.message'],
  ['refused: [{ if: { a: any }, charge: refusals }]', 'refusal_unpriced refused.0.charge'],
  ['facts: { quality: q, colour: c }', 'note fact_unused facts.colour'],
  ['facts: { speed: s, steps: t }', ''],
  ['refused: [{ if: { a: any }, charge: refusal }]', ''],
]

const streams: readonly Row[] = [
  ['stream: { events: { a: partial, b: done } }', 'stream_without_image stream.events'],
  ['stream: { picture: url }', 'stream_without_image stream'],
  ['stream: { each: answer, events: { a: image } }', 'key_unfit stream.events'],
  ['stream: { each: answer, picture: url }', 'key_unfit stream.picture'],
  ['stream: { events: { a: image }, type: . }', 'path_unfit stream.type'],
  ['stream: { events: { a: image }, picture: a..b }', 'path_unfit stream.picture'],
  ['stream: { each: answer }', ''],
  ['stream: { events: { a: image }, at: . }', ''],
]

const requests: readonly Row[] = [
  ['request: { prompt: "{promt}", n: "{n}" }', 'placeholder_unknown request.prompt'],
  ['request: { n: "{n}", list: [a, { b: "x {colour}" }] }', 'placeholder_unknown request.list.1.b'],
  ['request: { n: "{n}", pictures: ["{image.uri}"] }', 'placeholder_unknown request.pictures.0'],
  ['request: { n: "{n}", picture: "{image}" }', 'placeholder_unknown request.picture'],
  ['request: { n: "{n}", picture: "{image.0.url}" }', 'placeholder_unknown request.picture'],
  ['request: { n: "{n}", mask: "{mask.base64}" }', 'placeholder_unknown request.mask'],
  ['request: { n: "{n}", shape: "{ratio.x}" }', 'placeholder_unknown request.shape'],
  ['request: { n: "{n}", prompt: "{ prompt }" }', 'placeholder_unread request.prompt'],
  ['request: { n: "{n}", "{prompt}": 1 }', 'placeholder_unread request.{prompt}'],
  ['request: { prompt: "{prompt}" }', 'count_unsent request'],
  ['request: null', ''],
  ['request: null, rest: .', 'key_unfit rest'],
  ['request: null, values: { size: { a: b } }', 'values_unused values.size'],
  ['rest: prompt', 'rest_unfit rest'],
  ['rest: pictures.more', 'rest_unfit rest'],
  ['rest: a..b', 'path_unfit rest'],
  ['values: { quality: { low: 1K } }', 'values_unused values.quality'],
  ['per_operation: { chat.completions: { fan_out: 1 } }', 'operation_unserved per_operation.chat.completions'],
  [
    'per_operation: { image.generate: { request: { n: "{n}", a: "{b}" } } }',
    'placeholder_unknown per_operation.image.generate.request.a',
  ],
  [
    'per_operation: { image.generate: { request: { n: "{n}", a: "{image.url}" } } }',
    'placeholder_unknown per_operation.image.generate.request.a',
  ],
  ['request: { prompt: "{prompt}" }, fan_out: 2', ''],
  ['request: { prompt: "{prompt}" }, rest: .', ''],
  ['request: { n: "{n}", quality: "{quality}" }, values: { quality: { absent: low } }', ''],
  ['request: { n: "{n}", text: "a {{brace}} and {{" }', ''],
  ['request: { n: "{n}", text: "{\\"a\\": 1}" }', ''],
  ['rest: parameters, values: { size: { a: b } }', ''],
]

const jobs: readonly Row[] = [
  [`job: { id: id, state: status, done: [], failed: [E], ${poll} }`, 'job_endless job.done'],
  [`job: { id: id, state: status, done: D, ${poll} }`, 'note job_failure_unknown job'],
  [`job: { id: id, state: status, done: [D], failed: [E, D], ${poll} }`, 'state_repeated job.failed.1'],
  [`job: { id: id, state: status, running: R, done: R, failed: [E], ${poll} }`, 'state_repeated job.done'],
  [`job: { ${job}, poll: {} }`, 'job_step_nowhere job.poll'],
  [`job: { ${job}, ${poll}, result: { method: POST } }`, 'job_step_nowhere job.result'],
  [`job: { ${job}, poll: { path: /a, url: "https://a" } }`, 'job_step_twice job.poll.url'],
  [`job: { ${job}, poll: { path: /a, hosts: [a.example] } }`, 'key_unfit job.poll.hosts'],
  [`job: { ${job}, poll: { url: "{poll_url}" } }`, 'name_unkept job.poll.url'],
  [`job: { ${job}, ${poll}, result: { path: "/r/{result_id}" } }`, 'name_unkept job.result.path'],
  [`job: { ${job}, poll: { path: /a, body: { task: "{task}" } } }`, 'name_unkept job.poll.body'],
  [`job: { ${job}, poll: { path: /a, headers: { x-task: "{id}" } } }`, 'name_unkept job.poll.headers.x-task'],
  [`job: { id: ., state: status, done: D, failed: E, ${poll} }`, 'path_unfit job.id'],
  [`job: { id: id, state: a..b, done: D, failed: E, ${poll} }`, 'path_unfit job.state'],
  [`job: { ${job}, ${poll}, keep: { u: a..b } }`, 'path_unfit job.keep.u'],
  [`job: { ${job}, ${poll}, every: 1m, within: 30s }`, 'job_impatient job.within'],
  [`job: { ${job}, keep: { poll_url: polling_url }, poll: { url: "{poll_url}" } }`, ''],
  [`job: { id: id, state: http_status, done: 200, ${poll} }`, ''],
  [`refused: [{ if: { error: any } }], job: { id: id, state: status, done: D, ${poll} }`, ''],
]

for (const [title, rows] of Object.entries({
  'where pictures and facts are looked for': answers,
  'what events of streams are': streams,
  'what the vendor is sent': requests,
  'how jobs end': jobs,
}))
  t.test(`[10] a meaningless description is refused at its place: ${title}`, async t => {
    for (const [wrong, finding] of rows) t.strictSame(found(wrong), finding === '' ? [] : [finding], wrong)
  })

t.test('[10] every finding has a remedy', async t => {
  for (const [wrong] of [...answers, ...streams, ...requests, ...jobs]) {
    const family = familyOf()
    for (const { message, remedy = '' } of inspect(facetOf(wrong), family, [modelOf(family)]))
      t.ok(message.length > 10 && remedy.length > 10, caseName({ wrong, message, remedy }))
  }
})

t.test('[10] placeholders of a size need a section that reads sizes', async t => {
  const request = 'request: { n: "{n}", a: "{width}", b: "{resolution}" }'
  const none = familyOf({ facets: new Map() })
  t.strictSame(found(request, none), ['placeholder_unknown request.a', 'placeholder_unknown request.b'])
  const ratio = familyOf({ facets: new Map([['size-normalize', { ...snap, rule: 'ratio' }]]) })
  t.strictSame(found(request, ratio), ['placeholder_unknown request.b'], 'a ratio has no resolution')
  const edits = familyOf({ facets: new Map([['size-normalize', { ...snap, applies_to: ['image.edit'] }]]) })
  t.strictSame(found(request, edits), [], 'one of the operations that share the request has one')
  const fixed = 'request: { n: "{n}", a: "{width}" }, values: { width: { absent: 1024 } }'
  t.strictSame(found(fixed, none), [], 'or its values have the content')
})

t.test('[10] streams that clients may request are described if the vendor streams them', async t => {
  const streams = new Set(['image.edit'])
  const { forward } = familyOf()
  const more = new Map([...forward, ['image.edit', only('model', 'prompt', 'n', 'size', 'image', 'stream')] as const])
  const forwarding = familyOf({ streams, forward: more })
  t.strictSame(found('rest: .', forwarding), ['stream_missing '])
  t.strictSame(found('request: { n: "{n}", stream: "{stream}" }', forwarding), ['stream_missing '])
  t.strictSame(found('stream: { each: answer }, rest: .', forwarding), [])
  t.strictSame(found('', forwarding), [], 'a template without it requests no stream: the gateway converts the answer')
  const calls = new Map([['image.edit', { path: '/a', stream: { path: '/b' } }]])
  t.strictSame(found('', familyOf({ streams, calls: calls as never })), ['stream_missing '])
  t.strictSame(found('rest: .', familyOf({ forward: more })), [], "nor may another family's be requested")
})

t.test('[10] a family with a single picture needs no count, and one that forwards all accepts every field', async t => {
  t.strictSame(found('request: { prompt: "{prompt}" }', familyOf({ nMax: 1 })), [])
  const all: ForwardRule = { kind: 'all', except: new Set() }
  const forward = new Map([['image.generate', all]])
  t.strictSame(found('request: { n: "{n}", a: "{anything}", b: "{mask.url}" }', familyOf({ forward })), [])
  t.strictSame(found('request: { n: "{n}", a: "{anything}" }', familyOf({ forward: new Map() })), [])
})

const described = `
families:
  maker:
    n_max: 4
    defaults: { quality: low }
    forward: { image.generate: [model, prompt, n] }
    image-tier-billing: { tiers: [{ tier: 1K }], tier_from: [request], otherwise: 1K }
    translate:
      request: { input: { prompt: "{promt}" }, n: "{n}" }
      answer: { at: "data[0]", picture: url }
`

t.test('[10] check shows the line and the place of a meaningless description', async t => {
  const text = await editShipped([
    ['size-normalize, image-tier-billing, token-usage]', 'size-normalize, translate, image-tier-billing, token-usage]'],
    ['\nfamilies:\n', described],
    { 'models/maker-1': { family: 'maker', upstream: 'one', prices: { '1K': '0.01' } } },
  ])
  const loaded = await loadConfig({ file: 'gateway.yaml', text }, {})
  t.notOk(loaded.ok)
  const findings = loaded.ok ? [] : loaded.findings
  const lines = text.split('\n')
  const shown = findings.map(({ code, line, caret, path }) => [
    code,
    path,
    lines[line - 1]?.trim(),
    caret.split('\n')[1],
  ])
  t.match(shown, [
    ['plugin_not_last', /^pipeline/, /translate, image-tier-billing/, /\^~{8}/],
    ['default_unforwarded', 'families.maker.defaults.quality', 'defaults: { quality: low }', /\^~{6}/],
    ['placeholder_unknown', 'families.maker.translate.request.input.prompt', /promt/, /\^~{8}/],
    ['path_unfit', 'families.maker.translate.answer.at', /data\[0\]/, /\^~{8}/],
  ])
})
