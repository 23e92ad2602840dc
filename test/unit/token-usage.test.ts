import t from 'tap'
import { countCharacters } from '../../plugins/token-usage/count-characters.ts'
import { reviewCharge } from '../../plugins/token-usage/review-charge.ts'
import { tokenUsage } from '../../plugins/token-usage/plugin.ts'
import { inspect } from '../../plugins/token-usage/inspect.ts'
import { checkUsage } from '../../plugins/token-usage/check-usage.ts'
import { type Ended, rateRequest } from '../../plugins/token-usage/rate-request.ts'
import { EventReader } from '../../plugins/token-usage/read-events.ts'
import { MemberReader } from '../../plugins/token-usage/read-members.ts'
import { EventReading, JsonReading } from '../../plugins/token-usage/reading.ts'
import { mergeUsage } from '../../plugins/token-usage/merge-usage.ts'
import { measureText } from '../../plugins/token-usage/measure-text.ts'
import type { UsageFacet } from '../../plugins/token-usage/schema.ts'
import { WithheldReading, withheldBytesMax } from '../../plugins/token-usage/withheld-reading.ts'
import { openai } from '../../src/api-formats/openai.ts'
import { anthropic } from '../../src/api-formats/anthropic.ts'
import { google } from '../../src/api-formats/google.ts'
import { exactAmount, parseFactor, roundHalfUp } from '../../src/pricing/index.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { replayCharge } from '../../src/gateway/replay.ts'
import {
  type Body,
  billingRecord,
  type Charge,
  type Counts,
  type ChargeFacts,
  type FilePart,
  type Json,
  type Ledger,
  type ChargeItem,
  type Passed,
  type Price,
  type Stage,
  type Usage,
  type UsageRule,
} from '../../src/domain/index.ts'
import type { Outcome } from '../../src/plugin-api/index.ts'
import { KeptLog, someTarget } from '../harness/request-context.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'
import { usageFacet } from '../harness/usage-facet.ts'

const facet: UsageFacet = { ...usageFacet, include_usage: true }

const rule: UsageRule = {
  kind: 'usage',
  prices: [
    { unit: 'input', price: 500_000, per: 1_000_000, at: 'gateway.yaml:7' },
    { unit: 'cached_input', price: 50_000, per: 1_000_000, at: 'gateway.yaml:7' },
    { unit: 'output', price: 1_500_000, per: 1_000_000, at: 'gateway.yaml:7' },
  ],
  multiplier: '1',
  warnings: [],
}

function used(counts: Counts): Usage {
  return { counts, facts: {} }
}

function jsonBody(value: object): Body {
  return { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(value))) }
}

function file(bytes: number): FilePart {
  const unread = () => {
    throw new Error('not opened')
  }
  return { kind: 'file', name: 'file', bytes, head: Buffer.alloc(0), sha256: async () => '', open: unread }
}

const neverSent = () => {
  throw new Error('not sent here')
}

const whole: Outcome = { kind: 'answered', status: 200, reach: 'complete' }
const left: Outcome = { kind: 'cut', by: 'caller', status: 200, reach: 'truncated' }

function ended(some: Partial<Ended>): Ended {
  const body = jsonBody({ model: 'm', messages: [] })
  const nothing = { usage: null, implausible: [], uncounted: 0, byLength: 0, failed: false, at: 0 }
  return { rule, facet, outcome: whole, body, ...nothing, ...some }
}

function describeLines(rated: ReturnType<typeof rateRequest>): string[] {
  return rated.lines.map(({ tier, quantity, price, flags, source }) =>
    [tier, quantity, price, source, ...flags].join(' '),
  )
}

/** The bytes that a stage passes for a text in pieces that end at these positions. */
function passed(
  stage: { write(chunk: Buffer): Passed; end(): Passed },
  bytes: Buffer,
  cuts: readonly number[],
): string {
  const out: Buffer[] = []
  const take = (more: Passed) => void out.push(...(Buffer.isBuffer(more) ? [more] : more))
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    take(stage.write(bytes.subarray(from, to)))
    from = to
  }
  take(stage.end())
  return Buffer.concat(out).toString()
}

const stageOf = (stage: Stage) => stage as { write(chunk: Buffer): Passed; end(): Passed }

t.test('an amount is exact and rounded once, half up', t => {
  const table: readonly [quantity: number, price: number, per: number, multiplier: string, amount: number][] = [
    [0, 500_000, 1_000_000, '1', 0],
    [1, 500_000, 1_000_000, '1', 1],
    [1, 499_999, 1_000_000, '1', 0],
    [3, 500_000, 1_000_000, '1', 2],
    [12, 500_000, 1_000_000, '1', 6],
    [12, 500_000, 1_000_000, '0.9', 5],
    [10, 500_000, 1_000_000, '0.9', 5],
    [11, 500_000, 1_000_000, '0.9', 5],
    [1_000_000, 2_500_000, 1_000_000, '1', 2_500_000],
    [7, 100, 1, '1', 700],
    [7, 100, 1, '0.333333', 233],
    [3, 2_000, 1, '1.5', 9_000],
  ]
  for (const [quantity, price, per, multiplier, amount] of table) {
    t.equal(
      roundHalfUp(exactAmount(quantity, price, per, parseFactor(multiplier))),
      amount,
      `${quantity} × ${price} / ${per} × ${multiplier}`,
    )
  }
  t.end()
})

t.test('an amount too large for doubles is as exact as a small one', t => {
  const random = seeded(11)
  for (let i = 0; i < 2_000; i++) {
    const quantity = Math.floor(random() * 10 ** Math.floor(random() * 10))
    const price = Math.floor(random() * 10 ** Math.floor(random() * 9))
    const over = Math.floor(random() * 2_000_000)
    const factor = { over: BigInt(over), under: 1_000_000n }
    const exact = (2n * BigInt(quantity) * BigInt(price) * BigInt(over) + 10n ** 12n) / (2n * 10n ** 12n)
    if (BigInt(roundHalfUp(exactAmount(quantity, price, 1_000_000, factor))) !== exact)
      t.fail(`seed 11, round ${i}: ${quantity} × ${price} × ${over}`)
  }
  t.end()
})

t.test('cached input is an item of its own, at its own price or that of the input', t => {
  const usage = used({ input: 100, cached_input: 40, output: 10 })
  t.same(describeLines(rateRequest(ended({ usage }))), [
    'input 60 30 output',
    'cached_input 40 2 output',
    'output 10 15 output',
  ])
  const plain = { ...rule, prices: rule.prices.filter(row => row.unit !== 'cached_input') }
  t.same(
    describeLines(rateRequest(ended({ usage, rule: plain }))),
    ['input 60 30 output', 'cached_input 40 20 output', 'output 10 15 output'],
    'a count without a price of its own costs what its parent costs',
  )
  t.end()
})

t.test('[6.3] a whole answer without usage is charged by a marked estimate', t => {
  const rated = rateRequest(ended({ byLength: 20 }))
  t.same(describeLines(rated), [
    'input 7 4 default usage_missing estimated',
    'output 20 30 default usage_missing estimated',
  ])
  t.match(rated, { missing: ['input', 'output'], reason: 'usage_missing' })
  const half = rateRequest(ended({ usage: used({ input: 10 }), byLength: 20 }))
  t.same(describeLines(half), ['input 10 5 output usage_missing', 'output 20 30 default usage_missing estimated'])
  t.same(half.missing, ['output'])
  t.end()
})

t.test('[6.3] units other than tokens are estimated by the request', t => {
  const form = { kind: 'form', parts: [file(48_000)], encode: neverSent, discard: () => undefined } as const
  const prices = [{ unit: 'second', price: 100, per: 1, at: 'x:1' }]
  t.same(describeLines(rateRequest(ended({ rule: { ...rule, prices }, body: form }))), [
    'second 3 300 default usage_missing estimated',
  ])
  const documents = Array.from({ length: 101 }, () => 'a')
  const ranked = { body: jsonBody({ documents }), rule: { ...rule, prices: [{ ...prices[0], unit: 'search_unit' }] } }
  t.same(describeLines(rateRequest(ended(ranked as Partial<Ended>))), [
    'search_unit 2 200 default usage_missing estimated',
  ])
  const sound = { body: form, byLength: 1500 }
  t.same(describeLines(rateRequest(ended(sound))), [
    'input 1500 750 default usage_missing estimated',
    'output 1500 2250 default usage_missing estimated',
  ])
  t.end()
})

t.test('[6.3] a report beyond what the bytes can carry is rejected, one of reasoning is not', t => {
  const body = jsonBody({ model: 'm', messages: [] })
  const sent = body.kind === 'json' ? body.json.bytes.length : 0
  const judged = (usage: Counts, more: Partial<UsageFacet> = {}, of: Body = body) =>
    checkUsage(used(usage), { body: of, answerBytes: 100, facet: { ...facet, ...more } })
  const right: Counts[] = [
    { input: 0, output: 1 },
    { input: sent + 1_000_000, cached_input: sent + 1_000_000, output: 1_000_100 },
    { output: 200_000, input: 5 },
    { second: sent, search_unit: sent },
  ]
  for (const counts of right) t.match(judged(counts), { implausible: [], usage: { counts } }, JSON.stringify(counts))
  t.same(judged({ cached_input: 7 }).usage?.counts, {}, 'kinds of a count that was not reported are not counted')
  const wrong: [Counts, string, Counts][] = [
    [{ input: sent + 1_000_001, output: 3 }, 'input', { output: 3 }],
    [{ input: 3, output: 1_000_101 }, 'output', { input: 3 }],
    [{ input: 3, output: Number.MAX_SAFE_INTEGER }, 'output', { input: 3 }],
    [{ input: 3, cached_input: 4 }, 'cached_input', {}],
    [{ output: 3, output_audio: 2, reasoning: 2 }, 'reasoning output_audio', {}],
    [{ second: sent + 1 }, 'second', {}],
    [{ search_unit: 1e9 }, 'search_unit', {}],
  ]
  t.same(judged({ input: 0, output: 0 }), { usage: null, implausible: [] }, 'an empty report does not count')
  for (const [usage, found, left] of wrong) {
    const { implausible, usage: kept } = judged(usage)
    t.same([implausible.join(' '), kept?.counts], [found, left], found)
  }
  t.match(judged({ output: 1_500_000 }, {}, jsonBody({ n: 2 })), { implausible: [] }, 'two choices')
  t.match(judged({ output: 101 }, { unseen_tokens_max: 0 }), { implausible: ['output'] }, 'nothing unseen')
  t.match(judged({ output: 100 }, { unseen_tokens_max: 0 }), { implausible: [] })
  t.end()
})

t.test('[6.3] a rejected report is charged by length', async t => {
  const options = { dialect: openai, operation: 'chat', bytesPerToken: 4, removesUsage: false }
  const events = new EventReading(options)
  const event = (text: string) => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}]}\n\n`
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":99999999}}\n\n'
  const bytes = Buffer.from(event('a'.repeat(40)) + event('b'.repeat(40)) + event('c'.repeat(40)) + usage)
  passed(stageOf(events), bytes, [10, 70])
  t.equal(events.bytes, bytes.length)
  t.equal(events.uncounted(), 0)
  t.ok(events.byLength() >= 20, String(events.byLength()))
  const long = new EventReading(options)
  passed(stageOf(long), Buffer.from(`data: "${'x'.repeat(2_000_000)}"\n\n`), [1_500_000])
  t.ok(long.byLength() >= 250_000, `an event that was not looked at has ${long.byLength()}`)
  t.end()
})

t.test('[6.3] an answer of a family that refuses waits for its end, up to 8 MiB', async t => {
  const options = { dialect: openai, operation: 'chat', bytesPerToken: 4, removesUsage: false }
  const refuse = () => {
    throw new Error('refused')
  }
  const small = new WithheldReading(new JsonReading(options), refuse)
  t.same(small.write(Buffer.from('{"choices":[]}')), [])
  t.throws(() => small.end(), { message: 'refused' })
  const text = Buffer.from(`{"text":"${'x'.repeat(withheldBytesMax)}"}`)
  const large = new WithheldReading(new JsonReading(options), refuse)
  t.same(large.write(text.subarray(0, 1000)), [])
  t.equal(Buffer.concat(large.write(text.subarray(1000)) as Buffer[]).compare(text), 0)
  t.same(large.end(), [], 'a delivered answer is not refused')
  t.end()
})

t.test('a price per request is charged for every whole answer, even if nothing else is known', t => {
  const prices = [{ unit: 'request', price: 2_000, per: 1, at: 'x:1' }]
  t.same(describeLines(rateRequest(ended({ rule: { ...rule, prices } }))), ['request 1 2000 request'])
  const both = { ...rule, prices: [...rule.prices, ...prices] }
  t.same(describeLines(rateRequest(ended({ rule: both, byLength: 4 }))), [
    'input 7 4 default usage_missing estimated',
    'output 4 6 default usage_missing estimated',
    'request 1 2000 request usage_missing',
  ])
  t.end()
})

t.test('characters are those of the field that the family names; an emoji is one', t => {
  const body = jsonBody({ model: 'm', input: 'aé😀 b' })
  t.equal(countCharacters(body, 'input'), 5)
  t.equal(countCharacters(body, 'text'), null)
  t.equal(countCharacters(body, undefined), null)
  const prices = [{ unit: 'character', price: 15_000_000, per: 1_000_000, at: 'x:1' }]
  const speech = { rule: { ...rule, prices }, facet: { ...facet, count_characters_of: 'input' }, body }
  t.same(describeLines(rateRequest(ended(speech))), ['character 5 75 request'])
  t.end()
})

t.test('the uncounted part of an answer that the client cut is estimated and marked', t => {
  const cut = rateRequest(ended({ outcome: left, uncounted: 50 }))
  t.same(describeLines(cut), ['input 7 4 default estimated', 'output 50 75 default estimated'])
  const reported = used({ input: 25, output: 1 })
  const begun = rateRequest(ended({ outcome: left, usage: reported, uncounted: 50 }))
  t.same(describeLines(begun), ['input 25 13 output', 'output 51 76 default estimated'])
  const counted = rateRequest(ended({ outcome: left, usage: used({ input: 25, output: 8 }) }))
  t.same(describeLines(counted), ['input 25 13 output', 'output 8 12 output'])
  t.end()
})

t.test('an answer that the upstream cut or failed is charged only as reported', t => {
  const usage = used({ input: 25, output: 1 })
  const cut: Outcome = { kind: 'cut', by: 'upstream', status: 200, reach: 'truncated' }
  t.same(describeLines(rateRequest(ended({ outcome: cut, usage, uncounted: 50 }))), [
    'input 25 13 output',
    'output 1 1 output',
  ])
  t.match(rateRequest(ended({ outcome: cut, uncounted: 50 })), { lines: [], reason: 'upstream_cut' })
  t.match(rateRequest(ended({ failed: true, uncounted: 50 })), { lines: [], reason: 'upstream_failed' })
  t.end()
})

t.test('an empty answer costs nothing, even at a price per request', t => {
  const prices = [{ unit: 'request', price: 2_000, per: 1, at: 'x:1' }]
  const empty = { rule: { ...rule, prices: [...rule.prices, ...prices] }, isEmpty: true }
  t.match(rateRequest(ended(empty)), { lines: [], reason: 'no_content' })
  t.equal(rateRequest(ended({ ...empty, usage: used({ input: 3, output: 1 }) })).lines.length, 3)
  t.equal(rateRequest(ended({ ...empty, outcome: left })).lines.length, 2, 'the client left before it')
  t.end()
})

t.test('a request without an answer costs nothing', t => {
  for (const reach of ['untouched', 'refused', 'unknown'] as const) {
    const usage = used({ input: 9, output: 9 })
    t.same(rateRequest(ended({ outcome: { kind: 'answered', status: 500, reach }, usage })).lines, [], reach)
  }
  t.end()
})

t.test('a usage charge is explained by its quantities, and replayed from its own facts', t => {
  const { lines } = rateRequest(ended({ usage: used({ input: 12, output: 34 }), rule: { ...rule, multiplier: '0.9' } }))
  const charge: Charge = {
    id: 'req_1',
    keyId: 'key_1',
    user: 'local',
    group: 'partner',
    operation: 'chat',
    model: 'm',
    family: 'f',
    upstream: 'u',
    configRevision: 'abc',
    currency: 'USD',
    size: null,
    quality: null,
    n: 1,
    rule: { ...rule, multiplier: '0.9' },
    state: 'settled',
    reason: null,
    hold: 0,
    held: 0,
    amount: lines.reduce((sum, line) => sum + line.price, 0),
    refunded: 0,
    createdAt: 0,
    endedAt: 1,
    vendorCost: null,
    delivery: 'confirmed',
    lines,
  }
  const record = billingRecord(charge, [tokenUsage])
  t.match(record, { text: '输入 12, 输出 34', tier: null, source: null, actual_size: null, size: null, count: null })
  t.same(
    record.lines.map(line => [line.why, line.at, line.quantity]),
    [
      ['12 input tokens × 0.50 / 1M × 0.9 = 0.0000054', 'gateway.yaml:7', 12],
      ['34 output tokens × 1.50 / 1M × 0.9 = 0.0000459', 'gateway.yaml:7', 34],
    ],
  )
  const ranked = { ...charge, lines: lines.slice(0, 1).map(one => ({ ...one, tier: 'search_unit' })) }
  t.match(
    billingRecord(ranked, [tokenUsage]).lines[0]?.why,
    /^12 search units: no price/,
    'in words, not by its name in the file',
  )
  const replay = (one: Charge) => replayCharge(one, [tokenUsage])
  t.same(replay(charge), [])
  const forged = { ...charge, lines: lines.map(line => ({ ...line, price: line.price + 1 })) }
  t.equal(replay(forged).length, 2)
  t.equal(replay({ ...charge, amount: 1 }).length, 1)
  t.end()
})

t.test('every model of the family has a price for its use', t => {
  const origin = { file: 'gateway.yaml', line: 7, col: 1 }
  const problems = (prices: readonly string[], more: Partial<UsageFacet> = {}) => {
    const { model, family } = someTarget()
    const priced = new Map<string, Price>(prices.map(unit => [unit, { micros: 1, origin }]))
    return inspect({ ...facet, ...more }, family, [{ ...model, free: false, prices: priced }]).map(({ code }) => code)
  }
  t.same(problems(['input', 'cached_input', 'output']), [])
  t.same(problems([]), ['usage_price_missing'])
  t.same(problems(['cached_input', 'output']), ['usage_price_missing'])
  t.same(problems(['input', 'outptu']), ['usage_unit_unknown'])
  t.same(problems(['character']), ['usage_field_missing'])
  t.same(problems(['character'], { count_characters_of: 'input' }), [])
  t.same(problems(['second']), ['usage_seconds_untold'], 'a note')
  const { model, family } = someTarget()
  t.same(inspect(facet, family, [model]), [], 'one that is free needs none')
  const forward = new Map([['heard', { kind: 'all' as const, except: new Set<string>() }]])
  const timed = { ...model, free: false, prices: new Map([['hour', { micros: 1, origin }]]) }
  const found = (reportsSeconds?: true) =>
    inspect(facet, { ...family, forward }, [timed], new Map([['heard', reportsSeconds ? { reportsSeconds } : {}]]))
  t.match(found(), [{ code: 'usage_seconds_untold' }])
  t.same(found(true), [], 'each of its answers reports seconds')
  t.end()
})

t.test('only top-level members are found, however the text is split', t => {
  const text = JSON.stringify({
    id: 'x"},"usage":{"a":1}\\',
    'us\\age': 1,
    choices: [{ usage: { no: 1 }, text: `${'long '.repeat(40)}\\"` }, '{"usage":3}', [[{ usage: 4 }]]],
    embedding: Array.from({ length: 40 }, (_, i) => i / 7),
    usage: { prompt_tokens: 12, nested: { list: [1, { usage: 2 }], 'q"': '\\' }, text: 'ü}' },
    duration: 8.5,
    tail: 'usage',
  })
  const expected = [
    ['usage', { prompt_tokens: 12, nested: { list: [1, { usage: 2 }], 'q"': '\\' }, text: 'ü}' }],
    ['duration', 8.5],
  ]
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size += size < 70 ? 1 : 97) {
    const found: [string, Json][] = []
    const reader = new MemberReader(
      { members: new Set(['usage', 'duration']) },
      (name, value) => void found.push([name, value]),
    )
    for (let at = 0; at < bytes.length; at += size) reader.write(bytes.subarray(at, at + size))
    if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, `pieces of ${size}`)
  }
  t.end()
})

t.test('a list replaces a stream: the members of each of its objects are found', t => {
  const found: [string, Json][] = []
  const reader = new MemberReader({ members: new Set(['usage']) }, (name, value) => void found.push([name, value]))
  reader.write(Buffer.from('[{"a":[{"usage":9}],"usage":1}\n,\r\n{"usage":{"b":2}}]'))
  t.same(found, [
    ['usage', 1],
    ['usage', { b: 2 }],
  ])
  t.end()
})

t.test('megabytes without usage are read without being stored', t => {
  const reading = new JsonReading({ dialect: openai, operation: 'embeddings', bytesPerToken: 4, removesUsage: false })
  const row = Buffer.from(`{"embedding":[${'0.0123456789,'.repeat(5_000)}0],"index":0},`)
  reading.write(Buffer.from('{"object":"list","data":['))
  for (let i = 0; i < 100; i++) t.equal(reading.write(row), row, caseName({ i }))
  reading.write(Buffer.from('{}],"usage":{"prompt_tokens":8,"total_tokens":8}}'))
  t.same(reading.usage()?.counts, { input: 8 })
  t.end()
})

const chunk = (content: string) =>
  `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}],"usage":null}\n\n`
const usageChunk = `data: {"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}\n\n`

function readingOf(removesUsage: boolean, dialect = openai, operation = 'chat'): EventReading {
  return new EventReading({ dialect, operation, bytesPerToken: 4, removesUsage })
}

for (const [name, end] of [
  ['line feeds', '\n'],
  ['carriage returns and line feeds', '\r\n'],
  ['carriage returns', '\r'],
] as const) {
  t.test(`the usage event is removed and every other byte stays, split anywhere, with ${name}`, t => {
    const before = `: hello\n\n${chunk('Hello "usage":{ ü')}event: x\ndata: {"choices":[],\ndata: "usage":null}\n\n${chunk('b')}`
    const after = `data: [DONE]\n\n`
    const withEnds = (text: string) => text.replaceAll('\n', end)
    const bytes = Buffer.from(withEnds(before + usageChunk + after))
    const expected = withEnds(before + after)
    for (let at = 0; at <= bytes.length; at++) {
      const reading = readingOf(true)
      const out = passed(stageOf(reading), bytes, [at])
      if (out !== expected) t.equal(out, expected, `split at ${at}`)
      if (reading.usage()?.counts.output !== 3)
        t.match(reading.usage()?.counts, { input: 12, output: 3 }, caseName({ at }))
    }
    const every = readingOf(true)
    t.equal(
      passed(
        stageOf(every),
        bytes,
        Array.from({ length: bytes.length }, (_, i) => i),
      ),
      expected,
      'byte by byte',
    )
    t.match(every.usage()?.counts, { input: 12, output: 3 })
    t.end()
  })
}

t.test('a stream whose client requested the usage passes unchanged, chunk for chunk', t => {
  const reading = readingOf(false)
  for (const text of [chunk('a').slice(0, 30), chunk('a').slice(30), usageChunk]) {
    const bytes = Buffer.from(text)
    t.equal(reading.write(bytes), bytes, caseName({ text }))
  }
  t.match(reading.usage()?.counts, { input: 12, output: 3 })
  t.end()
})

t.test('a whole event is never held back', t => {
  const reading = readingOf(true)
  const bytes = Buffer.from(chunk('a') + chunk('b'))
  t.equal(reading.write(bytes), bytes)
  t.same(Buffer.concat(reading.write(Buffer.from(`${chunk('c')}data: {`)) as Buffer[]).toString(), chunk('c'))
  t.end()
})

t.test('an endless event is held up to 64 KiB, and one of megabytes passes unread', t => {
  const reading = readingOf(true)
  const long = Buffer.alloc(40_000, 'x')
  t.same(reading.write(long), [])
  t.equal(Buffer.concat(reading.write(long) as Buffer[]).length, 80_000)
  t.equal(reading.write(long), long)
  for (let i = 0; i < 40; i++) reading.write(long)
  reading.write(Buffer.from(`\n\n${usageChunk}`))
  t.match(reading.usage()?.counts, { input: 12 })
  t.end()
})

t.test('usage with the last content of a stream is read, and the event stays', t => {
  const last = `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n`
  const reading = readingOf(true)
  t.equal(passed(stageOf(reading), Buffer.from(last), [20]), last)
  t.match(reading.usage()?.counts, { input: 5, output: 6 })
  t.end()
})

t.test('the last record counts although its blank line is missing', t => {
  const reading = readingOf(true)
  t.equal(passed(stageOf(reading), Buffer.from(chunk('a') + usageChunk.trimEnd()), []), chunk('a'))
  t.match(reading.usage()?.counts, { output: 3 })
  t.end()
})

t.test('a messages stream is cumulative: the last report of each member wins', t => {
  const reading = readingOf(false, anthropic, 'messages')
  reading.write(
    Buffer.from(
      `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}\n\n` +
        `event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":42}}\n\n`,
    ),
  )
  t.match(reading.usage()?.counts, { input: 22, cached_input: 7, output: 42 })
  t.equal(reading.uncounted(), 0)
  t.end()
})

t.test('a generative stream as one list of objects is read like its events', t => {
  const options = { dialect: google, operation: 'generate', bytesPerToken: 4, removesUsage: false }
  const reading = new JsonReading(options)
  const one = (out: number) => `{"candidates":[],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":${out}}}`
  reading.write(Buffer.from(`[${one(2)},\n${one(9)}]`))
  t.match(reading.usage()?.counts, { input: 4, output: 9 })
  t.end()
})

t.test('a stream without usage is estimated by the differences of its events, at least a token each', t => {
  const reading = readingOf(false)
  const words = ['Hello', ' there', ',', ' how', ' are', ' you', ' doing', ' today', '?', '?']
  for (const word of words) reading.write(Buffer.from(chunk(word)))
  t.ok(reading.uncounted() >= words.length - 1 && reading.uncounted() <= 2 * words.length, String(reading.uncounted()))
  reading.write(Buffer.from(chunk('a paragraph '.repeat(100))))
  t.ok(reading.uncounted() > 290 && reading.uncounted() < 330, String(reading.uncounted()))
  t.end()
})

t.test('what follows a report is estimated in addition to it', t => {
  const reading = readingOf(false, anthropic, 'messages')
  reading.write(
    Buffer.from(`data: {"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}\n\n`),
  )
  t.equal(reading.uncounted(), 0)
  const delta = (text: string) =>
    `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`
  reading.write(Buffer.from(delta('a') + delta('b') + delta('c')))
  t.ok(reading.uncounted() >= 3)
  t.end()
})

const errors: readonly (readonly [string, string, string])[] = [
  [
    'of the chat style',
    'data: {"error":{"message":"x","type":"server_error","code":"server_is_overloaded"}}\n\n',
    'server_is_overloaded',
  ],
  ['named by its event', 'event: error\ndata: {"message":"x"}\n\n', 'error'],
  [
    'of the messages style',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    'overloaded_error',
  ],
  [
    'of the responses style',
    'data: {"type":"response.failed","response":{"error":{"code":"server_error"}}}\n\n',
    'server_error',
  ],
  ['of the generative style', 'data: {"error":{"code":503,"status":"UNAVAILABLE"}}\n\n', 'UNAVAILABLE'],
  [
    'as bare JSON behind the events',
    '{\n  "error": {\n    "code": 429, "status": "RESOURCE_EXHAUSTED"\n  }\n}\n',
    'RESOURCE_EXHAUSTED',
  ],
]
for (const [name, text, fault] of errors) {
  t.test(`an error ${name} inside a stream of status 200 is detected, and passes`, t => {
    for (const cuts of [[], [3], [40]]) {
      const reading = readingOf(true)
      t.equal(passed(stageOf(reading), Buffer.from(chunk('a') + text), cuts), chunk('a') + text, caseName({ cuts }))
      t.equal(reading.fault, fault, caseName({ cuts }))
    }
    t.end()
  })
}

t.test('an empty error next to an answer is not an error', t => {
  const answer = '"choices":[{"delta":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}'
  for (const error of ['{}', '""', 'null', 'false', '[]'])
    for (const isStream of [true, false]) {
      const whole = `{"error":${error},${answer}}`
      const options = { dialect: openai, operation: 'chat', bytesPerToken: 4, removesUsage: false }
      const reading = isStream ? readingOf(true) : new JsonReading(options)
      passed(stageOf(reading), Buffer.from(isStream ? `data: ${whole}\n\n` : whole), [])
      t.equal(reading.fault, undefined, caseName({ error, isStream }))
      t.match(reading.usage()?.counts, { output: 4 }, caseName({ error, isStream }))
    }
  t.end()
})

t.test('an error of any length is detected, in an object and in a list', t => {
  const options = { dialect: openai, operation: 'chat', bytesPerToken: 4, removesUsage: false }
  for (const length of [10, 20_000, 100_000, 2_000_000])
    for (const form of ['alone', 'first', 'last', 'list'])
      for (const error of ['x'.repeat(length), { message: 'x'.repeat(length) }]) {
        const reading = new JsonReading(options)
        const usage = { prompt_tokens: 3, completion_tokens: 4 }
        const members =
          form === 'first' ? { error, choices: [], usage } : form === 'last' ? { choices: [], usage, error } : { error }
        const text = JSON.stringify(form === 'list' ? [members] : members)
        passed(
          stageOf(reading),
          Buffer.from(text),
          [5, 5_000].filter(cut => cut < text.length),
        )
        const name = caseName({ length, form, type: typeof error })
        t.equal(reading.usage()?.counts.output, form === 'first' || form === 'last' ? 4 : undefined, name)
        t.equal(reading.fault, 'error', name)
      }
  t.end()
})

t.test('a null error is not an error', t => {
  const reading = readingOf(false, openai, 'responses')
  reading.write(Buffer.from('data: {"type":"response.created","response":{"error":null,"usage":null}}\n\n'))
  t.equal(reading.fault, undefined)
  t.end()
})

t.test('random streams in random pieces pass unchanged, except usage events', t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const records = [chunk('x'), chunk('"usage":{'), ': ping\n\n', '\n', 'event: a\n\n', usageChunk, 'data: [DONE]\n\n']
  for (let round = 0; round < 300; round++) {
    const end = ['\n', '\r\n', '\r'][Math.floor(random() * 3)] as string
    const chosen = Array.from({ length: 8 }, () => records[Math.floor(random() * records.length)] as string)
    const bytes = Buffer.from(chosen.join('').replaceAll('\n', end))
    const expected = chosen
      .filter(text => text !== usageChunk)
      .join('')
      .replaceAll('\n', end)
    const cuts = Array.from({ length: 6 }, () => Math.floor(random() * bytes.length)).toSorted((a, b) => a - b)
    const out = passed(stageOf(readingOf(true)), bytes, cuts)
    if (out !== expected) t.equal(out, expected, `round ${round}, cuts ${cuts.join(' ')}`)
  }
  t.end()
})

t.test('records have their event and their joined lines', t => {
  const seen: [string, string][] = []
  const reader = new EventReader((data, event) => (seen.push([event, data.toString()]), false), { removes: false })
  reader.write(Buffer.from('\uFEFFdata: a\ndata:b\nid: 1\n\nevent: e\nretry: 5\ndata\n\n: c\n\ndata: z'))
  reader.end()
  t.same(seen, [
    ['', 'a\nb'],
    ['e', ''],
    ['', 'z'],
  ])
  t.end()
})

t.test('a base64 file is estimated as one file, not as letters of text', async t => {
  const text = 'what is on this picture? '.repeat(200)
  const picture = Buffer.alloc(900_000, 7).toString('base64')
  const body = Buffer.from(
    JSON.stringify({ model: 'm', messages: [{ content: text }, { url: `data:image/png;base64,${picture}` }] }),
  )
  t.same(measureText(body), { textBytes: body.length - picture.length, files: 1 })
  t.same(measureText(Buffer.from(text)), { textBytes: text.length, files: 0 })
  t.same(measureText(Buffer.from('x'.repeat(2047))), { textBytes: 2047, files: 0 })
  const two = Buffer.from(`"${picture}","${picture}"`)
  t.same(measureText(two), { textBytes: 5, files: 2 }, 'also where they go over many pieces')
})

t.test('input does not shrink when a later report omits cached tokens', async t => {
  const merged = mergeUsage(used({ input: 150_010, cached_input: 50_000 }), used({ input: 10, output: 7 }))
  t.same(merged?.counts, { input: 150_010, cached_input: 50_000, output: 7 })
})

t.test('a later report of zero use does not replace an earlier one', async t => {
  const earlier = used({ input: 10, output: 7 })
  t.same(mergeUsage(earlier, used({ input: 0, output: 0 })), earlier)
  t.same(mergeUsage(earlier, used({ input: 0 })), earlier)
  t.match(mergeUsage(used({ input: 0, output: 0 }), earlier)?.counts, { input: 10, output: 7 })
})

t.test('[6.3] a charge that cannot go to review is settled by its items, or posted with them', async t => {
  const facts = { id: 'req_1', upstream: 'beta' } as ChargeFacts
  const { lines } = rateRequest(ended({ byLength: 20 }))
  const down = (): Promise<never> => Promise.reject(new Error('disk full'))
  const yes = async () => true
  const rows: [string, Partial<Ledger>, boolean, string][] = [
    ['all is well', {}, false, 'hold line line review'],
    ['it is held already', {}, true, 'line line review'],
    ['nothing can be held', { hold: down }, false, 'post'],
    ['a line fails', { line: down, settle: async () => false }, true, 'post'],
    ['the review fails', { review: down }, false, 'hold line line settle'],
    ['the review finds nothing to end', { review: async () => false }, true, 'line line settle'],
  ]
  for (const [name, faults, held, expected] of rows) {
    const calls: string[] = []
    const record = (what: string) => {
      calls.push(what)
      return yes()
    }
    const ledger = {
      hold: async () => (await record('hold'), { kind: 'held' }),
      line: (_id: string, _line: ChargeItem, upstream?: string) =>
        record(upstream === 'beta' ? 'line' : 'line of whom?'),
      review: () => record('review'),
      settle: () => record('settle'),
      post: () => void calls.push('post'),
      ...faults,
    } as unknown as Ledger
    const doubted = { facts, lines, reason: 'usage_missing', delivery: 'confirmed', held } as const
    await reviewCharge({ ledger, log: new KeptLog() }, doubted)
    t.equal(calls.join(' '), expected, name)
  }
})
