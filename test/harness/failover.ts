import type { Test } from 'tap'
import { png } from './pictures.ts'
import { smallConfig } from './small-config.ts'
import { type Started, start, type StartOptions } from './start.ts'
import type { Reaction, Upstream } from './upstream.ts'

/**
 * `first` fails as the test sets, `second` answers everything. `late` is the first with a short timeout, `gone` is
 * unreachable.
 */
const places = `
upstreams:
  first: { url: "\${FIRST_URL}", cooldown: { failures: 10000 } }
  second: { url: "\${SECOND_URL}", cooldown: { failures: 10000 } }
  late: { url: "\${FIRST_URL}", cooldown: { failures: 10000 }, timeouts: { first_byte: 50ms } }
  gone: { url: "\${GONE_URL}", cooldown: { failures: 10000 } }
  brief: { url: "\${FIRST_URL}", cooldown: { failures: 10000 }, timeouts: { total: 1s } }
  keyed: { url: "\${FIRST_URL}", cooldown: { failures: 10000 }, credential: { header: authorization, value: "Bearer \${FIRST_API_KEY}" } }
  pool: { url: "\${FIRST_URL}", cooldown: { failures: 10000 }, credential: { header: authorization, value: "Bearer {key}" }, keys: { a: { value: vendor-a }, b: { value: vendor-b } } }
`
const rest = `${smallConfig()}pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, token-usage, translate]
families:
  chat:
    streams: [chat]
    forward: { chat: { all: true }, responses: { all: true } }
    vendor_tools: [web_search]
    token-usage: { unpriced: parent }
  image:
    forward: { image.generate: { all: true } }
    image-tier-billing: { tiers: [{ tier: each }], tier_from: [output], otherwise: each }
  job:
    n_max: 1
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/jobs" }
    image-tier-billing: { tiers: [{ tier: each }], tier_from: [output], otherwise: each }
    translate:
      request: { prompt: "{prompt}" }
      answer: { at: result, picture: sample }
      job: { id: id, poll: { url: "/jobs/{id}" }, state: status, running: [Pending], done: [Ready], failed: [Error], every: 10ms, within: 20s }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai, reuse: false }
`

export type FailoverModel = {
  readonly name: string
  readonly family: 'chat' | 'image' | 'job'
  readonly upstreams: readonly string[]
  /** The settings of the model, such as `retry_on: [500]`. */
  readonly more?: string
}

const pricesOf = { chat: '{ input: "1", output: "2" }', image: '{ each: "0.04" }', job: '{ each: "0.04" }' }

export type Failover = Started & { readonly first: Upstream; readonly second: Upstream }

/** A gateway with two upstreams, the first of which fails as the test sets. */
export async function startFailover(
  t: Pick<Test, 'teardown'>,
  models: readonly FailoverModel[],
  options: Pick<StartOptions, 'clock' | 'edit' | 'log'> = {},
): Promise<Failover> {
  const lines = models.map(({ name, family, upstreams, more = '' }) => {
    const candidates = upstreams.map((upstream, i) => `{ upstream: ${upstream}, priority: ${i + 1} }`).join(', ')
    return `  ${name}: { family: ${family}, upstreams: [${candidates}], prices: ${pricesOf[family]}${more && `, ${more}`} }`
  })
  const started = await start(t, {
    ...options,
    yaml: `${rest}${places}models:\n${lines.join('\n')}\n`,
    upstreams: ['first', 'second'],
    // The system assigns this port to no server, so that none answers.
    env: { GONE_URL: 'http://127.0.0.1:9' },
  })
  const { first, second } = started.upstreams as { readonly first: Upstream; readonly second: Upstream }
  first.answer(serve)
  second.answer(serve)
  return { ...started, first, second }
}

const image = png(64, 64).toString('base64')
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const events = [
  { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hello' } }] },
  { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { id: 'c1', object: 'chat.completion.chunk', choices: [], usage },
]

/** Answers any request. */
export const serve: Reaction = (res, received) => {
  const send = (body: object): void =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (received.url.startsWith('/v1/images')) return send({ created: 1, data: [{ b64_json: image }] })
  if (received.url === '/jobs') return send({ id: 'job-1', status: 'Pending' })
  if (received.url.startsWith('/jobs/')) return send({ id: 'job-1', status: 'Ready', result: { sample: image } })
  if (received.url.startsWith('/v1/responses'))
    return send({
      id: 'r1',
      object: 'response',
      status: 'completed',
      output: [],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    })
  if (received.json()['stream'] !== true)
    return send({
      id: 'c1',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage,
    })
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.end(`${events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`)
}

/** A refusal with this status, in a vendor's format. */
export const refuseWith =
  (status: number, headers: { readonly [name: string]: string } = {}): Reaction =>
  res =>
    void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(
      JSON.stringify({
        error: { message: 'The engine is overloaded', type: 'server_error', code: 'engine_overloaded' },
      }),
    )
