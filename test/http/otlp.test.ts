import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

type Attribute = {
  readonly key: string
  readonly value: {
    readonly stringValue?: string
    readonly intValue?: string
    readonly doubleValue?: number
    readonly arrayValue?: { readonly values: readonly { readonly stringValue: string }[] }
  }
}
type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number }
}
type Point = { readonly attributes: readonly Attribute[]; readonly sum: number; readonly count: string }
type Sent = {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string
        readonly histogram: { readonly dataPoints: readonly Point[] }
      }[]
    }[]
  }[]
}

/** A receiver of OTLP/HTTP in JSON that keeps what it receives. */
async function startReceiver(t: Test) {
  const received: { path: string; authorization: string | undefined; body: Sent }[] = []
  let status = 200
  const server = createServer(async (req, res) => {
    const body = (await json(req)) as Sent
    if (status === 200) received.push({ path: req.url ?? '', authorization: req.headers.authorization, body })
    res.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer(next: number) {
      status = next
    },
    spans: () =>
      received.flatMap(({ body }) => body.resourceSpans ?? []).flatMap(one => one.scopeSpans[0]?.spans ?? []),
    points: (name: string) =>
      received
        .flatMap(({ body }) => body.resourceMetrics ?? [])
        .at(-1)
        ?.scopeMetrics[0]?.metrics.find(metric => metric.name === name)?.histogram.dataPoints ?? [],
  }
}

function facts(attributes: readonly Attribute[]): { readonly [name: string]: string | number | readonly string[] } {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, doubleValue, intValue, arrayValue } }) => [
      key,
      stringValue ?? doubleValue ?? arrayValue?.values.map(one => one.stringValue) ?? Number(intValue),
    ]),
  )
}

/** Events of a stream in the chat-completions format, and its end. */
function sse(...events: readonly object[]): (res: ServerResponse) => void {
  const text = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  return res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${text}data: [DONE]\n\n`)
}

function withOtlp(url: string, more = ''): readonly (readonly [string, string])[] {
  const otlp = `{ endpoint: "${url}", every: 1h, headers: { authorization: Bearer receiver-secret }${more} }`
  return [['\nserver:\n', `\nobservability: { otlp: ${otlp} }\nserver:\n`]]
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'
const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] }

t.test('requests are exported as spans and GenAI metrics, all of them when the gateway closes', async t => {
  const receiver = await startReceiver(t)
  const { gateway, upstreams, post, settled } = await start(t, { edit: withOtlp(receiver.url) })
  upstreams['text']?.answer({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })
  await post('/v1/chat/completions', chat, { traceparent: `00-${traceId}-${parent}-01` })
  await post('/v1/chat/completions', chat, { traceparent: `00-${traceId}-${parent}-00` })
  upstreams['alpha']?.answer({ data: [picture(1024, 1024)] })
  await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a secret wish' })
  upstreams['alpha']?.answer(res => void res.writeHead(500).end('{}'))
  await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a secret wish' }, { traceparent: 'nonsense' })
  await settled()
  t.equal(receiver.received.length, 0, 'no request has waited for it')
  await gateway.close()

  const all = receiver.spans()
  t.match(all.at(-1), { name: 'ledger anchor', attributes: [{ key: 'tollgate.ledger.anchor' }] }, '[6.6]')
  const spans = all.slice(0, -1)
  t.equal(spans.length, 6, 'two each, and none of a trace that its caller does not follow')
  const [own, callSpan] = spans
  t.match(own, { traceId, parentSpanId: parent, name: 'chat sim-chat', kind: 2, status: {} })
  t.match(callSpan, { traceId, parentSpanId: own?.spanId, kind: 3 })
  t.ok(BigInt(own?.endTimeUnixNano ?? 0) >= BigInt(own?.startTimeUnixNano ?? 1))
  t.match(facts(own?.attributes ?? []), {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'sim-chat',
    'gen_ai.provider.name': 'text',
    'gen_ai.usage.input_tokens': 3,
    'gen_ai.usage.output_tokens': 4,
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
  })
  const [failed, asking] = spans.slice(4)
  t.match(failed, { status: { code: 2 }, traceId: /^[0-9a-f]{32}$/ })
  t.not(failed?.traceId, traceId)
  t.equal(failed?.parentSpanId, undefined)
  t.match(facts(asking?.attributes ?? []), { 'error.type': '500', 'http.response.status_code': 500 })
  t.notMatch(JSON.stringify(spans), /secret wish/)
  t.same([...new Set(receiver.received.map(one => one.authorization))], ['Bearer receiver-secret'])
  t.same([...new Set(receiver.received.map(one => one.path))], ['/v1/traces', '/v1/metrics'])

  const tokens = receiver.points('gen_ai.client.token.usage')
  t.same(
    tokens.map(point => [facts(point.attributes)['gen_ai.token.type'], point.sum, point.count]),
    [
      ['input', 6, '2'],
      ['output', 8, '2'],
    ],
    'metrics count what traces leave out',
  )
  const durations = receiver.points('gen_ai.server.request.duration')
  t.equal(
    durations.reduce((sum, point) => sum + Number(point.count), 0),
    4,
  )
})

t.test('a missing receiver loses spans but no requests, and both are counted', async t => {
  const receiver = await startReceiver(t)
  receiver.answer(503)
  const { gateway, opsUrl, post, settled } = await start(t, { simulated: true, edit: withOtlp(receiver.url) })
  for (let i = 0; i < 3; i++) t.equal((await post('/v1/chat/completions', chat)).status, 200, caseName({ i }))
  await settled()
  await gateway.close()
  t.equal(receiver.received.length, 0)
  t.ok(opsUrl)

  const refusing = await startReceiver(t)
  refusing.answer(400)
  const more = await start(t, {
    simulated: true,
    edit: [...withOtlp(refusing.url), [/every: 1h/, 'every: 20ms']] as never,
  })
  t.equal((await more.post('/v1/chat/completions', chat)).status, 200)
  await more.settled()
  const dropped = async (): Promise<boolean> =>
    /^tollgate_otlp_spans_dropped_total 2$/m.test(await (await fetch(`${more.opsUrl}/metrics`)).text())
  while (!(await dropped())) await new Promise(resolve => setImmediate(resolve))
  t.match(await (await fetch(`${more.opsUrl}/metrics`)).text(), /^tollgate_otlp_failures_total [1-9]/m)
})

t.test('upstreams get trace headers only if configured', async t => {
  const receiver = await startReceiver(t)
  for (const [more, expected] of [
    ['', undefined],
    [', forward_traceparent: true', traceId],
  ] as const) {
    const { upstreams, post, gateway } = await start(t, { edit: withOtlp(receiver.url, more) })
    const text = upstreams['text']
    text?.answer({ choices: [] })
    await post('/v1/chat/completions', chat, { traceparent: `00-${traceId}-${parent}-01` })
    const seen = text?.received.at(-1)?.headers['traceparent']
    t.equal(String(seen ?? '').split('-')[1], expected, caseName({ more, expected }))
    if (expected !== undefined) t.not(String(seen).split('-')[2], parent, 'by a span of ours')
    await gateway.close()
  }
})

t.test('a span names the provider, the answering model, why it ended, and what was cached', async t => {
  const receiver = await startReceiver(t)
  const edit = [
    ...withOtlp(receiver.url),
    [/\n    url: "\$\{TEXT_URL/, '\n    provider: openai\n    url: "${TEXT_URL'],
  ] as never
  const { gateway, upstreams, post, settled } = await start(t, { edit })
  const text = upstreams['text']
  const details = { prompt_tokens_details: { cached_tokens: 2 } }
  const usage = { prompt_tokens: 3, completion_tokens: 4, ...details }
  text?.answer({ model: 'sim-chat-2026', choices: [{ finish_reason: 'stop' }, { finish_reason: 'length' }], usage })
  await post('/v1/chat/completions', chat)
  const delta = { model: 'sim-chat-2026', choices: [{ delta: { content: 'Hi' }, finish_reason: null }] }
  text?.answer(
    sse(
      delta,
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
      { model: 'sim-chat-2026', choices: [], usage },
    ),
  )
  await (await post('/v1/chat/completions', { ...chat, stream: true })).text()
  text?.answer({ model: 'claude', stop_reason: 'end_turn', content: [], usage: { input_tokens: 1, output_tokens: 1 } })
  await post('/v1/messages', { ...chat, model: 'sim-messages', max_tokens: 9 })
  await settled()
  await gateway.close()

  const own = receiver.spans().filter(span => span.kind === 2)
  const { port } = new URL(text?.url ?? '')
  for (const [i, reasons] of [['stop', 'length'], ['tool_calls'], ['end_turn']].entries())
    t.match(
      facts(own[i]?.attributes ?? []),
      {
        'gen_ai.provider.name': 'openai',
        'gen_ai.response.finish_reasons': reasons,
        'server.address': '127.0.0.1',
        'server.port': Number(port),
        'tollgate.upstream': 'text',
        ...(i < 2 && { 'gen_ai.response.model': 'sim-chat-2026', 'gen_ai.usage.cache_read.input_tokens': 2 }),
      },
      caseName({ i, reasons }),
    )
  t.equal(facts(own[0]?.attributes ?? [])['user.id'], undefined, 'users are named only if configured')
  const [first] = receiver.points('gen_ai.server.time_to_first_token')
  t.equal(first?.count, '1', 'of the stream alone')
  t.match(facts(first?.attributes ?? []), { 'gen_ai.response.model': 'sim-chat-2026' })
  const { resourceSpans, resourceMetrics } = Object.assign({}, ...receiver.received.map(({ body }) => body)) as {
    readonly [kind: string]: readonly object[]
  }
  for (const [kind, all] of Object.entries({ resourceSpans, resourceMetrics }))
    t.match(
      all,
      [
        {
          schemaUrl: /opentelemetry\.io\/schemas/,
          resource: { attributes: [{}, {}, { key: 'service.instance.id' }, {}] },
        },
      ],
      caseName({ kind }),
    )
})

t.test(
  'spans name the user, the key, the group and the cost if configured, in the form that Langfuse reads',
  async t => {
    const receiver = await startReceiver(t)
    const langfuse = `${receiver.url}/api/public/otel`
    const { gateway, upstreams, post, settled } = await start(t, {
      edit: withOtlp(langfuse, ', metrics: false, attributes: [user, key, group, cost]'),
    })
    upstreams['alpha']?.answer({ data: [picture(1024, 1024)] })
    await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })
    await settled()
    await gateway.close()
    t.same([...new Set(receiver.received.map(one => one.path))], ['/api/public/otel/v1/traces'])
    const [own] = receiver.spans()
    t.match(facts(own?.attributes ?? []), {
      'user.id': 'local',
      'tollgate.key.id': /^key_/,
      'tollgate.group': 'default',
      'gen_ai.usage.cost': 0.02,
      'tollgate.cost.currency': 'USD',
    })
  },
)

t.test('invented names create no series: of unknown models, and of answers for wildcards', async t => {
  const receiver = await startReceiver(t)
  const model = '  sim-chat: { '
  const { gateway, upstreams, post, settled } = await start(t, {
    edit: [
      ...withOtlp(receiver.url),
      [model, `  "any-*": { family: chat, upstream: text, prices: { input: "1", output: "1" } }\n${model}`],
    ],
    upstreams: ['text'],
  })
  upstreams['text']?.answer((res, received) => {
    const { model } = received.json() as { model: string }
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ model, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }))
  })
  for (let i = 0; i < 3; i++) {
    await (await post('/v1/chat/completions', { ...chat, model: `invented-${i}` })).text()
    await (await post('/v1/chat/completions', { ...chat, model: `any-${i}` })).text()
  }
  await settled()
  await gateway.close()
  const names = receiver.points('gen_ai.server.request.duration').map(point => {
    const { 'gen_ai.request.model': requested, 'gen_ai.response.model': answered } = facts(point.attributes)
    return `${String(requested)} ${String(answered)}`
  })
  t.same(names.toSorted(), ['any-* any-*', 'undefined undefined'])
})
