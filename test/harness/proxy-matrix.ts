import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { Agent, fetch as fetchBy } from 'undici'
import { createKey } from '../../src/index.ts'
import { fetchHttp2 } from './fetch-http2.ts'
import type { Proxy } from './fronts.ts'
import { picture } from './pictures.ts'
import { type Started, start } from './start.ts'
import type { Upstream } from './upstream.ts'
import { newVisitor, offerToken, passwordOfTests } from './visitor.ts'

/** The result of one client's task through one proxy. */
export type Cell = {
  readonly proxy: string
  readonly client: string
  readonly task: string
  /** Requests that a vendor received, answers that the client received completely, and charges that were settled. */
  readonly purchases: number
  readonly deliveries: number
  readonly charged: number
  readonly fault?: string
}

/** Whether each purchase was delivered, and each delivery was charged. */
export function isRight({ purchases, deliveries, charged, fault }: Cell): boolean {
  return fault === undefined && deliveries === 1 && purchases === charged && purchases <= 1
}

/** The cell as a line of a table. */
export function lineOf({ proxy, client, task, purchases, deliveries, charged, fault }: Cell): string {
  const names = [proxy.padEnd(50), client.padEnd(22), task.padEnd(42)].join(' ')
  return `${names} bought ${purchases} delivered ${deliveries} charged ${charged}${fault === undefined ? '' : `  ${fault}`}`
}

const heartbeatMs = 20
/** Ten heartbeat intervals. */
const slowMs = 200

type Fetch = typeof fetch
type Place = {
  readonly started: Started
  readonly url: string
  /** A `fetch` from an address of this machine, over HTTP/1.1 or HTTP/2. */
  readonly fetchFrom: (address: string, h2?: boolean) => Fetch
}

type Client = {
  readonly name: string
  /** Sends a request with a slow answer; resolves when it has arrived completely. */
  slow(place: Place, key: string, fetch: Fetch): Promise<void>
  stream(place: Place, key: string, fetch: Fetch): Promise<void>
  /** Resolves if the key is accepted. */
  look(place: Place, key: string, fetch: Fetch): Promise<void>
}

const image = { model: 'alpha-image-2', prompt: 'a boat' }
const chat = { model: 'sim-chat', messages: [{ role: 'user' as const, content: 'hello' }] }
const message = { model: 'sim-messages', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hello' }] }
const timeout = 10_000

const openai = ({ url }: Place, apiKey: string, fetch: Fetch) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch, timeout })

const openaiNode: Client = {
  name: 'openai-node',
  async slow(place, key, fetch) {
    const { data = [] } = await openai(place, key, fetch).images.generate(image)
    if (!data[0]?.b64_json) throw new Error('no picture')
  },
  async stream(place, key, fetch) {
    let text = ''
    for await (const { choices } of await openai(place, key, fetch).chat.completions.create({ ...chat, stream: true }))
      text += choices[0]?.delta.content ?? ''
    if (text !== 'hi there') throw new Error(`the stream said '${text}'`)
  },
  async look(place, key, fetch) {
    await openai(place, key, fetch).models.list()
  },
}

const anthropic = ({ url: baseURL }: Place, apiKey: string, fetch: Fetch) =>
  new Anthropic({ baseURL, apiKey, fetch, timeout })

const anthropicNode: Client = {
  name: 'anthropic',
  async slow(place, key, fetch) {
    const { content } = await anthropic(place, key, fetch).messages.create(message)
    if (content[0]?.type !== 'text') throw new Error('no text')
  },
  async stream(place, key, fetch) {
    const { content } = await anthropic(place, key, fetch).messages.stream(message).finalMessage()
    if (content[0]?.type !== 'text' || content[0].text !== 'hi there') throw new Error('the stream was not whole')
  },
  async look(place, key, fetch) {
    await anthropic(place, key, fetch).models.list()
  },
}

/** Requests of plain programs that identify as an SDK, without retries. */
const raw: Client = {
  name: 'raw http',
  async slow({ url }, key, fetch) {
    const body = await read(await fetch(`${url}/v1/images/generations`, posted(key, image)))
    if (!JSON.parse(body).data[0].b64_json) throw new Error('no picture')
  },
  async stream({ url }, key, fetch) {
    const body = await read(await fetch(`${url}/v1/chat/completions`, posted(key, { ...chat, stream: true })))
    if (!/"hi"[^]*" there"[^]*\[DONE\]/.test(body)) throw new Error(`the stream was not whole: ${body}`)
  },
  async look({ url }, key, fetch) {
    await read(await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }))
  },
}

function posted(key: string, body: object): RequestInit {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': 'OpenAI/JS 7' }
  return { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(timeout) }
}

async function read(response: Response): Promise<string> {
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 200)}`)
  return text
}

const clients: readonly Client[] = [openaiNode, anthropicNode, raw]

/**
 * Tests one proxy with all clients and tasks. The gateway runs on the shipped configuration, in which `OpenAI/JS` and
 * `Anthropic/JS` get a 102 at each heartbeat, with the settings from the proxy's documentation page.
 * @param isShort tests only one client over HTTP/2, and fewer uploads
 */
export async function* walk(
  t: Pick<Test, 'teardown'>,
  proxy: Proxy | undefined,
  isShort = false,
): AsyncGenerator<Cell> {
  const trusts = proxy === undefined || proxy.tells === 'all'
  const started = await start(t, {
    edit: [['heartbeat: 15s ', `heartbeat: ${heartbeatMs}ms${trusts ? '\n  trusted_proxies: [127.0.0.1]' : ''} `]],
  })
  const { upstreams } = started
  const front = proxy && (await proxy.start(t, started.url))
  const agents = new Map<string, Agent>()
  t.teardown(async () => {
    for (const agent of agents.values()) await agent.close()
  })
  const place: Place = {
    started,
    url: front?.url ?? started.url,
    fetchFrom(localAddress, allowH2 = false) {
      const name = `${localAddress} ${allowH2}`
      const dispatcher =
        agents.get(name) ?? new Agent({ allowH2, localAddress, connect: { ...(front?.ca && { ca: front.ca }) } })
      agents.set(name, dispatcher)
      return ((input: string, init: object) => fetchBy(input, { ...init, dispatcher })) as unknown as Fetch
    },
  }
  upstreams['alpha']?.answer(async res => {
    await new Promise(resolve => setTimeout(resolve, slowMs))
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ created: 1, data: [picture(1254, 1254)] }))
  })
  upstreams['text']?.answer(async (res, received) => {
    const isMessages = received.url.includes('messages')
    const isStream = received.json()['stream'] === true
    await new Promise(resolve => setTimeout(resolve, isStream ? 0 : slowMs))
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    const whole = [JSON.stringify(isMessages ? wholeMessage : wholeChat)]
    for (const part of isStream ? (isMessages ? messageEvents : chatEvents) : whole) res.write(part)
    res.end()
  })
  const http2From = (localAddress: string): Fetch =>
    ((input: string, init: object) => fetchHttp2(input, init, { ca: front?.ca, localAddress })) as unknown as Fetch
  const who = proxy?.name ?? 'no proxy'
  const sent = Object.entries(proxy?.tells === 'nothing' ? uploads : { ...uploads, ...consoleUploads })
  for (const h2 of front?.h2 ? [false, true] : [false])
    for (const client of h2 && isShort ? [raw] : clients) {
      const names = { proxy: who, client: `${client.name}${h2 ? ' by HTTP/2' : ''}` }
      const fetch = place.fetchFrom('127.0.0.1', h2)
      yield { ...names, task: 'slow answer', ...(await count(started, () => client.slow(place, started.key, fetch))) }
      yield { ...names, task: 'stream', ...(await count(started, () => client.stream(place, started.key, fetch))) }
      const uploading = h2 ? http2From('127.0.0.1') : fetch
      if (client === raw)
        for (const [task, send] of sent.filter(
          ([task]) => !isShort || task.includes('without a key') || task.includes('from another'),
        ))
          yield { ...names, task, ...(await count(started, () => send(place, started.key, uploading))) }
      if (trusts) yield { ...names, task: 'key bound to an address', ...(await lookBound(place, client, h2)) }
    }
  if (proxy?.tells !== 'nothing')
    yield { proxy: who, client: 'browser', task: 'set-up and sign-in', ...(await signIn(place, trusts)) }
}

type Counted = Pick<Cell, 'purchases' | 'deliveries' | 'charged' | 'fault'>

async function count(started: Started, buy: () => Promise<void>): Promise<Counted> {
  const received = () =>
    Object.values(started.upstreams).reduce((sum, { received }: Upstream) => sum + received.length, 0)
  const before = received()
  const billed = (await started.charges()).length
  const fault = await faultOf(buy)
  const charges = await started.charges()
  return {
    purchases: received() - before,
    deliveries: fault === undefined ? 1 : 0,
    charged: charges.slice(0, charges.length - billed).filter(({ state }) => state === 'settled').length,
    ...(fault !== undefined && { fault }),
  }
}

async function faultOf(act: () => Promise<void>): Promise<string | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    return String(error)
  }
}

const nothing = { purchases: 0, charged: 0 }

const megabyte = 1_048_576
const types = { json: 'application/json', form: 'multipart/form-data; boundary=x' }

/**
 * Requests that are refused during the upload of their bodies: each client reads the reason, whatever part of the body
 * it has sent.
 */
const uploads: { readonly [task: string]: (place: Place, key: string, fetch: Fetch) => Promise<void> } = {
  'upload without a key': ({ url }, _key, fetch) =>
    refused(
      fetch(`${url}/v1/images/edits`, upload('sk-none', 'form', Buffer.alloc(8 * megabyte, 97))),
      401,
      'invalid_api_key',
    ),
  'upload of JSON without a key': ({ url }, _key, fetch) =>
    refused(
      fetch(`${url}/v1/chat/completions`, upload('sk-none', 'json', Buffer.alloc(8 * megabyte, 97))),
      401,
      'invalid_api_key',
    ),
  'upload that is too large': ({ url }, key, fetch) =>
    refused(
      fetch(`${url}/v1/chat/completions`, upload(key, 'json', Buffer.alloc(32 * megabyte + 1, 97))),
      413,
      'body_too_large',
    ),
  'upload of unknown length that is too large': ({ url }, key, fetch) =>
    refused(
      fetch(`${url}/v1/chat/completions`, upload(key, 'json', streamOf(33 * megabyte - 1))),
      413,
      'body_too_large',
    ),
  'upload to a path that is not there': ({ url }, key, fetch) =>
    refused(fetch(`${url}/v1/nothing`, upload(key, 'json', Buffer.alloc(8 * megabyte, 97))), 404, 'not_found'),
}

const consoleUploads: typeof uploads = {
  'upload to the console that is too large': ({ url }, _key, fetch) =>
    refused(
      fetch(
        `${url}/api/session`,
        upload('', 'json', Buffer.alloc(8 * megabyte, 97), { 'x-tollgate': '1', origin: url }),
      ),
      413,
      'too_large',
    ),
  'upload to the console from another page': ({ url }, _key, fetch) =>
    refused(
      fetch(
        `${url}/api/session`,
        upload('', 'json', Buffer.alloc(8 * megabyte, 97), { origin: 'https://evil.example' }),
      ),
      403,
      'cross_site',
    ),
}

function upload(key: string, kind: keyof typeof types, body: Buffer | ReadableStream, more: object = {}): RequestInit {
  const headers = { authorization: `Bearer ${key}`, 'content-type': types[kind], ...more }
  const init: object = { method: 'POST', headers, body, duplex: 'half', signal: AbortSignal.timeout(timeout) }
  return init
}

function streamOf(bytes: number): ReadableStream {
  let left = bytes
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 65_536)
      if (size === 0) return controller.close()
      left -= size
      controller.enqueue(new Uint8Array(size).fill(97))
    },
  })
}

async function refused(answering: Promise<Response>, status: number, code: string): Promise<void> {
  const answer = await answering
  const text = await answer.text()
  if (answer.status !== status || !text.includes(`"${code}"`)) throw new Error(`${answer.status} ${text.slice(0, 200)}`)
}

/** A key bound to one address works from there, and from no other address. */
async function lookBound(place: Place, client: Client, h2: boolean): Promise<Counted> {
  const { secret } = await createKey(place.started.gateway.storage, {
    name: 'bound',
    user: 'local',
    ips: ['127.0.0.2'],
  })
  const fault = await faultOf(() => client.look(place, secret, place.fetchFrom('127.0.0.2', h2)))
  if (fault !== undefined) return { ...nothing, deliveries: 0, fault }
  const elsewhere = await faultOf(() => client.look(place, secret, place.fetchFrom('127.0.0.3', h2)))
  const isRefused = elsewhere?.includes('403') === true
  return { ...nothing, deliveries: isRefused ? 1 : 0, ...(!isRefused && { fault: `from elsewhere: ${elsewhere}` }) }
}

/**
 * The first administrator is created, signs out, and signs in again; another client that guesses passwords does not
 * block other clients.
 */
async function signIn(place: Place, isTold: boolean): Promise<Counted> {
  const from = (address: string) => newVisitor(place.url, place.fetchFrom(address))
  const fault = await faultOf(async () => {
    const admin = from('127.0.0.2')
    const expect = async (what: string, status: number, answering: Promise<{ status: number; text: string }>) => {
      const { status: was, text } = await answering
      if (was !== status) throw new Error(`${what}: ${was} ${text.slice(0, 200)}`)
    }
    const token = await offerToken(place.started)
    await expect('set-up', 200, admin.post('/api/setup', { token, name: 'root', password: passwordOfTests }))
    await expect('session', 200, admin.get('/api/session'))
    await expect('sign-out', 204, admin.ask('DELETE', '/api/session'))
    // If the gateway does not get the clients' addresses, all clients share one limit.
    const guesser = from('127.0.0.3')
    if (isTold) {
      for (let i = 0; i < 20; i++)
        await guesser.post('/api/session', { name: `nobody${i}`, password: 'wrong password' })
      await expect('one guess too many', 429, guesser.post('/api/session', { name: 'root', password: passwordOfTests }))
    }
    await expect('sign-in', 200, admin.post('/api/session', { name: 'root', password: passwordOfTests }))
    await expect('session', 200, admin.get('/api/session'))
    await expect('page', 200, admin.get('/console/'))
  })
  return { ...nothing, deliveries: fault === undefined ? 1 : 0, ...(fault !== undefined && { fault }) }
}

const wholeChat = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'sim-chat',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi there' } }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
}
const chunkOf = (rest: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'sim-chat', ...rest })}\n\n`
const chatEvents = [
  ...['hi', ' there'].map(content => chunkOf({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  chunkOf({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
  'data: [DONE]\n\n',
]
const wholeMessage = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'sim-messages',
  stop_reason: 'end_turn',
  stop_sequence: null,
  content: [{ type: 'text', text: 'hi there' }],
  usage: { input_tokens: 1, output_tokens: 2 },
}
const eventOf = (type: string, rest: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const messageEvents = [
  eventOf('message_start', {
    message: { ...wholeMessage, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
  }),
  eventOf('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ...['hi', ' there'].map(text => eventOf('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  eventOf('content_block_stop', { index: 0 }),
  eventOf('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } }),
  eventOf('message_stop', {}),
]
