import t from 'tap'
import { imageTierBilling } from '../../plugins/image-tier-billing/plugin.ts'
import type { BillingFacet } from '../../plugins/image-tier-billing/schema.ts'
import { scanObject } from '../../src/engine/fields.ts'
import {
  type Answer,
  type Body,
  callerSlot,
  type HoldRequest,
  type HoldResult,
  type Json,
  type Ledger,
  type ChargeItem,
  type Review,
  type Passed,
  type Reply,
  type Settlement,
  type Stage,
  type Stores,
} from '../../src/domain/index.ts'
import {
  askedSizeSlot,
  type RequestContext,
  type Hooks,
  type Outcome,
  type Target,
} from '../../src/plugin-api/index.ts'
import {
  KeptLog,
  refusalOf,
  someExchange,
  someGroup,
  someHost,
  someKey,
  someTarget,
} from '../harness/request-context.ts'
import { pngHead } from '../harness/image-heads.ts'
import { caseName } from '../harness/case-name.ts'

/** A ledger in memory that records its calls, and whose commits wait until the test releases them. */
class MemoryLedger implements Ledger {
  readonly asked: string[] = []
  readonly lines: ChargeItem[] = []
  readonly settlements: Settlement[] = []
  readonly holds: HoldRequest[] = []
  answer: HoldResult = { kind: 'held' }
  isHealthy = true
  open = true
  fails = false
  #gate: Promise<void> = Promise.resolve()

  /** From now on, commits wait until the returned function is called. */
  shut(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#gate = promise
    return () => resolve(undefined)
  }

  async hold(request: HoldRequest): Promise<HoldResult> {
    this.holds.push(request)
    this.asked.push(`hold ${request.hold}`)
    if (this.fails) throw new Error('disk full')
    return this.answer
  }

  async line(id: string, line: ChargeItem): Promise<boolean> {
    await this.#gate
    this.asked.push(`line ${line.index} ${line.tier} ${line.price}`)
    if (this.fails) throw new Error('disk full')
    if (this.open) this.lines.push(line)
    return this.open && id !== ''
  }

  async settle(settlement: Settlement): Promise<boolean> {
    await this.#gate
    this.asked.push(`settle ${settlement.delivery}`)
    this.settlements.push(settlement)
    return this.open
  }

  post = (): void => void this.asked.push('post')
  void = async (_id: string, reason: string): Promise<boolean> => this.#say(`void ${reason}`)
  review = async (_id: string, reason: string, { hold }: Review = {}): Promise<boolean> =>
    this.#say(`review ${reason}${hold === 'kept' ? ' kept' : ''}`)
  delivered = (): void => void this.asked.push('delivered')
  find = (): undefined => undefined
  healthy = (): boolean => this.isHealthy

  #say(what: string): boolean {
    this.asked.push(what)
    return this.open
  }
}

const byOutput: BillingFacet = {
  tiers: [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K', long_edge_max: 2048 }, { tier: '4K' }],
  tier_from: ['output'],
  otherwise: '2K',
  render: 'b64_json',
  on_caller_gone: 'bill',
  missing_usage: 'review',
  over_return: 'bill',
}
const byRequest: BillingFacet = { ...byOutput, tier_from: ['request'] }

type Course = {
  readonly context: RequestContext
  readonly target: Target
  readonly facet: BillingFacet
  readonly hooks: Hooks<BillingFacet>
  readonly ledger: MemoryLedger
  readonly log: KeptLog
}

function course(
  fields: { readonly [name: string]: Json } = {},
  more: {
    readonly facet?: BillingFacet
    readonly stream?: boolean
    readonly headers?: RequestContext['head']['headers']
  } = {},
): Course {
  const ledger = new MemoryLedger()
  const log = new KeptLog()
  const hooks = imageTierBilling.create(
    {},
    someHost({ stores: { ledger, jobs: { find: () => undefined } } as unknown as Stores, log }),
  )
  const body: Body = {
    kind: 'json',
    json: scanObject(Buffer.from(JSON.stringify({ model: 'm', prompt: 'a boat', ...fields }))),
  }
  const some = someTarget({ body })
  const origin = { file: 'gateway.yaml', line: 7, col: 1 }
  const prices = new Map([
    ['1K', { micros: 1, origin }],
    ['2K', { micros: 2, origin }],
    ['4K', { micros: 4, origin }],
  ])
  const facet = more.facet ?? byOutput
  const context = someExchange({ headers: more.headers ?? {} })
  const chargesItems = imageTierBilling.chargesItems?.(context.route.operation, body, facet) === true
  const model = { ...some.model, prices, free: false }
  const target = { ...some, stream: more.stream ?? false, model, chargesItems }
  context.slots.put(callerSlot, { key: someKey(), group: someGroup() })
  context.slots.put(askedSizeSlot, { text: null, size: { kind: 'none' }, expected: null, resolution: null })
  return { context, target, facet, hooks, ledger, log }
}

async function admit({ hooks, context, target, facet }: Course): Promise<Answer | undefined> {
  await hooks.onTarget?.(context, target, facet)
  return hooks.onAdmit?.(context, target, facet)
}

/** The stage for an answer with this head; undefined if there is none. */
async function replied(
  on: Course,
  headers: Reply['headers'] = { 'content-type': 'application/json' },
  status = 200,
): Promise<{ stage: Stage; reply: Reply }> {
  const reply = (await on.hooks.onReply?.(on.context, { status, headers, stages: [] }, on.facet, on.target)) as Reply
  return { stage: reply.stages[0] as Stage, reply }
}

const textOf = (passed: Passed): string => (Buffer.isBuffer(passed) ? passed : Buffer.concat([...passed])).toString()
const settle = async (on: Course, outcome: Outcome): Promise<void> => on.hooks.onSettle?.(on.context, outcome, on.facet)
const answered: Outcome = { kind: 'answered', status: 200, reach: 'complete' }

const image = (width: number): string => Buffer.concat([pngHead(width, 10), Buffer.alloc(6_000, 9)]).toString('base64')
const answerOf = (...widths: number[]): string =>
  JSON.stringify({ data: widths.map(width => ({ b64_json: image(width) })) })

t.test(
  'an image is delivered after its item is durable, the end of the answer after the charge is settled',
  async t => {
    const on = course({ n: 2 })
    await admit(on)
    t.equal(on.context.notes.charge, true)
    const { stage } = await replied(on)
    const text = answerOf(1254, 3000)
    const firstEnd = text.indexOf('"}')
    t.equal(textOf(await stage.write(Buffer.from(text.slice(0, firstEnd)))).length, firstEnd - 4096)
    const open = on.ledger.shut()
    let out: string | undefined
    const writing = Promise.resolve(stage.write(Buffer.from(text.slice(firstEnd)))).then(passed => {
      out = textOf(passed)
    })
    await new Promise(resolve => setImmediate(resolve))
    t.equal(out, undefined, 'nothing while the commit is open')
    open()
    await writing
    t.equal(out, text.slice(firstEnd - 4096))
    t.equal(textOf(await stage.end()), '')
    await settle(on, answered)
    t.same(on.ledger.asked, ['hold 8', 'line 0 2K 2', 'line 1 4K 4', 'settle unconfirmed', 'delivered'])
  },
)

t.test('an item that is not known to be durable cuts the client off, and its image is withheld', async t => {
  for (const how of ['fails', 'fenced'] as const) {
    const on = course()
    await admit(on)
    const { stage } = await replied(on)
    if (how === 'fails') on.ledger.fails = true
    else on.ledger.open = false
    const refusal = await refusalOf(() => stage.write(Buffer.from(answerOf(1254))))
    t.match(refusal, { code: 'charge_not_recorded', status: 503, retry: false }, caseName({ how }))
    await settle(on, { kind: 'cut', by: 'gateway', status: 200, reach: 'complete' })
    t.match(on.ledger.asked.at(-1), 'review line_not_recorded', caseName({ how }))
  }
})

t.test('the outcome of a request decides how its charge ends (4.4)', async t => {
  const cut = (by: 'caller' | 'upstream' | 'deadline', reach: Outcome['reach']): Outcome => ({
    kind: 'cut',
    by,
    status: undefined,
    reach,
  })
  const rows: [string, Outcome, string | undefined, string][] = [
    ['the caller left while uploading', cut('caller', 'untouched'), undefined, 'void not_sent'],
    ['the upstream refused', { kind: 'answered', status: 400, reach: 'refused' }, undefined, 'void upstream_refused'],
    ['no answer in time', cut('deadline', 'unknown'), undefined, 'review outcome_unknown'],
    ['an answer broke off before an image', cut('upstream', 'truncated'), '{"data":[', 'review outcome_truncated'],
    ['an answer broke off after an image', cut('upstream', 'truncated'), answerOf(1254).slice(0, -1), 'settle partial'],
    ['the caller left after an image', cut('caller', 'truncated'), answerOf(1254).slice(0, -1), 'settle partial'],
  ]
  for (const [what, outcome, text, expected] of rows) {
    const on = course()
    await admit(on)
    if (text !== undefined) await (await replied(on)).stage.write(Buffer.from(text))
    await settle(on, outcome)
    t.equal(on.ledger.asked.at(-1), expected, what)
  }
  const free = course({}, { facet: { ...byOutput, on_caller_gone: 'free' } })
  await admit(free)
  await settle(free, cut('caller', 'unknown'))
  t.equal(free.ledger.asked.at(-1), 'void caller_gone', 'a family that does not charge clients that left')
})

t.test('an answer without images costs nothing, even as a 200', async t => {
  for (const text of ['{"data":[]}', '{"error":{"message":"no"}}', '{"data":[{"b64_json":""}]}']) {
    const on = course()
    await admit(on)
    const { stage } = await replied(on)
    const out = textOf(await stage.write(Buffer.from(text))) + textOf(await stage.end())
    t.equal(out, text, caseName({ text }))
    await settle(on, answered)
    t.same(on.ledger.asked.slice(1), ['void zero_images', 'delivered'], caseName({ text }))
  }
})

t.test('a charge ends although its items cannot be read back', async t => {
  const on = course()
  await admit(on)
  const { stage } = await replied(on)
  on.ledger.line = () => Promise.reject(new Error('disk full'))
  on.ledger.find = () => {
    throw new Error('disk I/O error')
  }
  t.match(await refusalOf(async () => stage.write(Buffer.from(answerOf(1254)))), { code: 'charge_not_recorded' })
  await settle(on, { kind: 'cut', by: 'gateway', status: 200, reach: 'truncated' })
  t.equal(on.ledger.asked.at(-1), 'review line_not_recorded')
})

t.test('the end of the request waits for pending writes', async t => {
  const on = course()
  await admit(on)
  const { stage } = await replied(on)
  const open = on.ledger.shut()
  const writing = stage.write(Buffer.from(answerOf(1254)))
  const settling = settle(on, { kind: 'cut', by: 'caller', status: 200, reach: 'truncated' })
  open()
  await Promise.all([writing, settling])
  t.same(on.ledger.asked.slice(1), ['line 0 2K 2', 'settle partial'])
  t.match(await refusalOf(() => stage.end()), { code: 'charge_not_recorded' }, 'nothing is written afterwards')
})

t.test('[6.2] an unrecognised answer is refused, and its charge waits with its hold', async t => {
  const rows: [string, string][] = [
    ['"https://images.example/1.png"', 'no JSON object'],
    ['{"images":["https://images.example/1.png"]}', 'images[] (a link)'],
    ['{"job":"1"}', 'no image, but job'],
  ]
  for (const [text, shape] of rows) {
    const on = course()
    await admit(on)
    const { stage } = await replied(on)
    const failure = await refusalOf(async () => {
      await stage.write(Buffer.from(text))
      await stage.end()
    })
    t.match(failure, { code: 'upstream_answer_unrecognised', status: 502, retry: false }, caseName({ text, shape }))
    await settle(on, { kind: 'refused', status: 502, reach: 'truncated', failure })
    t.same(on.ledger.asked.slice(1), [`review answer_unrecognised: ${shape} kept`], caseName({ text, shape }))
    t.same(on.context.notes.unrecognised, { shape }, caseName({ text, shape }))
  }
  for (const text of ['<!doctype html><a href="https://login.example">Sign in</a>', 'null', '[]', '"no"', '  7']) {
    const on = course()
    await admit(on)
    const { stage } = await replied(on)
    const failure = await refusalOf(async () => {
      await stage.write(Buffer.from(text))
      await stage.end()
    })
    t.match(failure, { code: 'upstream_answer_malformed', status: 502, retry: false }, text)
    await settle(on, { kind: 'refused', status: 502, reach: 'truncated', failure })
    t.same(on.ledger.asked.slice(1), ['void zero_images'], text)
  }
  for (const text of [
    '<html><img src="/1.png">',
    '["https://images.example/1"]',
    '<html>https://i.example/1.jpg',
    '[{"a":1}]',
  ]) {
    const on = course()
    await admit(on)
    const { stage } = await replied(on)
    const failure = await refusalOf(async () => {
      await stage.write(Buffer.from(text))
      await stage.end()
    })
    t.match(failure, { code: 'upstream_answer_unrecognised' }, text)
    await settle(on, { kind: 'refused', status: 502, reach: 'truncated', failure })
    t.match(on.ledger.asked.at(-1), /^review answer_unrecognised: .* kept$/, text)
  }
  const later = course({ n: 2 })
  await admit(later)
  const { stage } = await replied(later)
  await stage.write(Buffer.from(`${answerOf(1254).slice(0, -1)},"more":`))
  await stage.write(Buffer.from('"https://images.example/2.png"}'))
  const last = Buffer.concat([await stage.end()].flat()).toString()
  t.match(last, /^"" +\}$/, 'the answer is complete without it')
  await settle(later, { kind: 'answered', status: 200, reach: 'complete' })
  t.match(later.ledger.asked.slice(-2), ['settle unconfirmed', 'delivered'])
  t.same(later.context.notes.unrecognised, { shape: 'more (a link)' })
})

t.test('an answer that cannot be parsed, or was encoded, is not delivered', async t => {
  const bent = course()
  await admit(bent)
  const { stage } = await replied(bent)
  t.match(await refusalOf(() => stage.write(Buffer.from('{"data":[}'))), {
    code: 'upstream_answer_malformed',
    status: 502,
    retry: false,
  })
  await settle(bent, { kind: 'cut', by: 'gateway', status: 200, reach: 'complete' })
  t.equal(bent.ledger.asked.at(-1), 'review answer_malformed')
  const cut = course()
  await admit(cut)
  const half = (await replied(cut)).stage
  await half.write(Buffer.from('{"data":['))
  t.match(await refusalOf(() => half.end()), { code: 'upstream_answer_malformed' })
  const encoded = course()
  await admit(encoded)
  t.match(await refusalOf(() => replied(encoded, { 'content-type': 'application/json', 'content-encoding': 'gzip' })), {
    code: 'upstream_answer_encoded',
  })
})

t.test('a successful answer is scanned for images, a refusal for possible ones; events by their type', async t => {
  const on = course()
  await admit(on)
  const refused = await replied(on, { 'content-type': 'application/json' }, 500)
  t.same(await refused.stage.write(Buffer.from('{"error":{}}')), [])
  t.equal(textOf((await refused.stage.end?.()) ?? []), '{"error":{}}')
  const { stage } = await replied(on, { 'content-type': 'text/event-stream; charset=utf-8' })
  const record = `event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"${image(1254)}"}\n\n`
  t.equal(textOf(await stage.write(Buffer.from(record.slice(0, -1)))), '')
  t.equal(textOf(await stage.write(Buffer.from('\n'))), record)
  t.same(
    on.ledger.lines.map(line => line.tier),
    ['2K'],
  )
})

t.test('response_format of a family that renders is handled here (2.4)', async t => {
  const on = course({ response_format: 'url' })
  await admit(on)
  const out = await on.hooks.onForward?.(
    on.context,
    { body: on.target.body, headers: {}, detach: false },
    on.facet,
    on.target,
  )
  t.same(out?.body.kind === 'json' && out.body.json.names(), ['model', 'prompt'])
  t.equal(out?.detach, true)
  const { stage, reply } = await replied(on, { 'content-type': 'application/json', 'content-length': '9', etag: 'x' })
  t.same(reply.headers, { 'content-type': 'application/json' })
  const sent = textOf(await stage.write(Buffer.from(answerOf(1254)))) + textOf(await stage.end())
  t.same(JSON.parse(sent), { data: [{ url: `data:image/png;base64,${image(1254)}` }] })
  for (const format of ['png', 1, [], ' ']) {
    const wrong = course({ response_format: format })
    t.match(
      await refusalOf(() => admit(wrong)),
      {
        code: 'invalid_response_format',
        status: 400,
        param: 'response_format',
      },
      caseName({ format }),
    )
  }
  const streamed = course({ response_format: 'url' }, { stream: true })
  t.match(await refusalOf(() => admit(streamed)), { code: 'response_format_not_streamed', status: 400 })
  const { render: _, ...plain } = byRequest
  const other = course({ response_format: 'anything' }, { facet: plain })
  t.equal(await admit(other), undefined, 'other families pass the answer unchanged')
  const kept = await replied(other, { 'content-type': 'application/json', 'content-length': '9' })
  t.equal(kept.reply.headers['content-length'], '9')
})

t.test('a failed hold refuses before the upstream is called', async t => {
  const sick = course()
  sick.ledger.isHealthy = false
  t.match(await refusalOf(() => admit(sick)), { code: 'storage_unavailable', status: 503, retryAfterMs: 5000 })
  t.same(sick.ledger.asked, [])
  const full = course()
  full.ledger.fails = true
  t.match(await refusalOf(() => admit(full)), { code: 'storage_unavailable', status: 503 })
  full.ledger.fails = false
  await settle(full, {
    kind: 'refused',
    status: 503,
    reach: 'untouched',
    failure: await refusalOf(() => {
      throw new Error('x')
    }).catch(() => undefined as never),
  })
  t.same(full.ledger.asked.slice(1), ['void not_sent'], 'a hold in doubt is given back')
  const poor = course({ n: 2 })
  poor.ledger.answer = { kind: 'overdrawn', level: 'key', availableMicros: 5, heldMicros: 0, renewsAt: null }
  t.match(await refusalOf(() => admit(poor)), {
    code: 'insufficient_quota',
    status: 402,
    type: 'insufficient_quota',
    retry: false,
  })
  await settle(poor, { kind: 'answered', status: 402, reach: 'untouched' })
  t.same(poor.ledger.asked, ['hold 8'], 'nothing was opened, nothing is ended')
})

t.test('an Idempotency-Key buys once', async t => {
  const headers = { 'idempotency-key': 'order-1' }
  const first = course({}, { headers })
  await admit(first)
  t.match(first.ledger.holds, [{ idempotency: { key: 'order-1', fingerprint: /^[0-9a-f]{64}$/ } }])
  const { stage } = await replied(first)
  const text = answerOf(1254)
  await stage.write(Buffer.from(text))
  await stage.end()
  const stored = first.ledger.settlements[0]?.answer
  t.equal(stored?.body.toString(), text)
  t.same(stored?.headers, { 'content-type': 'application/json' })

  const again = course({}, { headers })
  again.ledger.answer = { kind: 'ended', chargeId: 'req_1', answer: stored ?? null }
  const answer = await admit(again)
  t.match(answer, { status: 200, headers: { 'content-type': 'application/json', 'idempotent-replayed': 'true' } })
  t.equal(answer?.body.toString(), text)
  t.equal(again.context.notes.charge, false)

  const rows: [HoldResult, object][] = [
    [
      { kind: 'running', chargeId: 'req_1' },
      { code: 'idempotency_in_progress', status: 409, retryAfterMs: 2000 },
    ],
    [
      { kind: 'mismatch', chargeId: 'req_1' },
      { code: 'idempotency_mismatch', status: 422 },
    ],
    [
      { kind: 'ended', chargeId: 'req_1', answer: null },
      { code: 'already_completed', status: 409, retry: false, message: /req_1/ },
    ],
  ]
  for (const [held, refusal] of rows) {
    const on = course({}, { headers })
    on.ledger.answer = held
    t.match(await refusalOf(() => admit(on)), refusal, caseName({ held, refusal }))
  }

  const large = course({}, { headers })
  await admit(large)
  const big = (await replied(large)).stage
  await big.write(Buffer.from(JSON.stringify({ data: [{ b64_json: Buffer.alloc(800_000).toString('base64') }] })))
  await big.end()
  t.equal(large.ledger.settlements[0]?.answer, undefined, 'an answer over 1 MiB is not kept')
})

t.test('a ledger that fails at the end is logged, and recovery ends the charge', async t => {
  const on = course()
  await admit(on)
  on.ledger.void = () => Promise.reject(new Error('disk full'))
  await settle(on, { kind: 'cut', by: 'caller', status: undefined, reach: 'untouched' })
  t.equal(on.log.lines[0]?.[0], 'error')
})
