import { readFile, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../harness/database.ts'
import { prepareSite } from '../harness/child.ts'
import { picture } from '../harness/pictures.ts'
import { startUpstream } from '../harness/upstream.ts'

export type ReloadLoad = {
  readonly reloads: number
  readonly seconds: number
  /** Requests for images per second. */
  readonly rps: number
  /** Number of concurrent event streams. */
  readonly streams: number
}

export type ReloadFigures = {
  readonly reloads: number
  readonly requests: number
  readonly streams: number
  /** Requests and streams without a complete answer of 200. */
  readonly dropped: readonly string[]
  /** Requests for which two parts of the gateway used different configurations. */
  readonly mixed: readonly string[]
  readonly p99Ms: { readonly quiet: number; readonly reloading: number }
}

const eventsOfStream = 20

/**
 * Repeatedly reloads a gateway under load, each time with another price and another header for its upstream. The
 * upstream's request and the charge must belong to the same configuration.
 */
export async function reloadUnderLoad(folder: string, load: ReloadLoad): Promise<ReloadFigures> {
  const upstream = await startUpstream()
  upstream.answer((res, { headers }) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ data: [picture(1024, 1024)], seen: headers['x-variant'] }))
  })
  const text = await startUpstream()
  text.answer(async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < eventsOfStream; i++) {
      res.write(`data: {"choices":[{"index":0,"delta":{"content":"${i}"}}]}\n\n`)
      await sleep(50)
    }
    res.end('data: [DONE]\n\n')
  })
  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url, text: text.url },
    edit: [
      [/default: \{ rpm: 60,[^}]*\}/, 'default: {}'],
      ['url: "${ALPHA_URL:-simulator:alpha}"', 'url: "${ALPHA_URL}"\n    headers: { x-variant: "v0" }'],
      [', limits: { rpm: 300 } }', ' }'],
    ],
  })
  const written = await readFile(site.config, 'utf8')
  const gateway = site.start()
  const url = await gateway.ready
  const agent = new Agent({ keepAlive: true })
  const dropped: string[] = []
  const times: { readonly at: number; readonly ms: number }[] = []
  /** The variant that the upstream received, by the request's id. */
  const seen = new Map<string, string>()
  let streams = 0
  const over = new AbortController()

  const ask = async (): Promise<void> => {
    const at = performance.now()
    const answer = await post(`${url}/v1/images/generations`, site.key, agent, { model: 'alpha-image-2', prompt: 'a' })
    times.push({ at, ms: performance.now() - at })
    if (answer.status !== 200 || !answer.whole) dropped.push(`image ${answer.status} ${answer.text.slice(0, 200)}`)
    else seen.set(answer.id, /"seen":"(v\d)"/.exec(answer.text)?.[1] ?? 'none')
  }
  const stream = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const body = { model: 'sim-chat', stream: true, messages: [{ role: 'user', content: 'hi' }] }
      const answer = await post(`${url}/v1/chat/completions`, site.key, agent, body)
      streams++
      if (!answer.whole || !answer.text.includes('[DONE]'))
        dropped.push(`stream ${answer.status} ${answer.text.slice(0, 200)}`)
    }
  }
  const running: Promise<void>[] = []
  /** Requests start at a fixed rate, whether earlier ones have been answered or not. */
  const offer = async (seconds: number): Promise<void> => {
    const from = performance.now()
    for (let i = 0; i < seconds * load.rps; i++) {
      await sleep(Math.max(0, from + (i * 1_000) / load.rps - performance.now()))
      running.push(ask())
    }
  }
  const streaming = Array.from({ length: load.streams }, stream)
  await offer(load.seconds / 4)
  const from = performance.now()
  const asking = offer(load.seconds)
  for (let i = 1; i <= load.reloads; i++) {
    await sleep(Math.max(0, from + (i * load.seconds * 1_000) / load.reloads - performance.now()))
    const start = gateway.said().length
    await writeFile(site.config, variantOf(written, i % 2))
    gateway.signal('SIGHUP')
    await gateway.hears(/^reloaded: /m, start)
  }
  const until = performance.now()
  await asking
  over.abort()
  await Promise.all([...running, ...streaming])
  agent.destroy()
  await gateway.stop()
  const mixed = await compare(site.database, seen)
  await upstream.close()
  await text.close()
  const quiet = times.filter(({ at }) => at < from)
  const reloading = times.filter(({ at }) => at >= from && at < until)
  return {
    reloads: load.reloads,
    requests: times.length,
    streams,
    dropped,
    mixed,
    p99Ms: { quiet: p99(quiet), reloading: p99(reloading) },
  }
}

/** The configuration with another header for the upstream and another price multiplier. */
function variantOf(written: string, variant: number): string {
  const changed = written.replace('x-variant: "v0"', `x-variant: "v${variant}"`)
  return changed.replace(/(\n {2}alpha-image-2: .*?1K: )"[\d.]+"/, `$1"0.0${variant + 3}"`)
}

/** Each charge must have the price of the configuration whose header the upstream received. */
async function compare(database: string, seen: ReadonlyMap<string, string>): Promise<string[]> {
  const storage = await openDatabase({ url: `sqlite:${database}`, role: 'tool' })
  const faults: string[] = []
  const revisions = new Map<string, Set<string>>()
  for (const [id, variant] of seen) {
    const charge = await storage.ledger.find(id)
    if (!charge) faults.push(`${id} has no charge`)
    else {
      const of = revisions.get(charge.configRevision) ?? new Set()
      revisions.set(charge.configRevision, of.add(`${variant} ${charge.amount}`))
    }
  }
  await storage.close()
  for (const [revision, found] of revisions)
    if (found.size > 1) faults.push(`revision ${revision} was seen as ${[...found].join(' and ')}`)
  return faults
}

function p99(times: readonly { readonly ms: number }[]): number {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)
}

type Told = { readonly status: number | undefined; readonly whole: boolean; readonly text: string; readonly id: string }

/** Sends one request on kept-alive connections. Never rejects. */
export function post(url: string, key: string, agent: Agent, body: object): Promise<Told> {
  return new Promise(resolve => {
    let text = ''
    const sent = request(url, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    sent.on('error', error => resolve({ status: undefined, whole: false, text: String(error), id: '' }))
    sent.on('response', answer => {
      const { statusCode: status, headers } = answer
      const finish = (): void => resolve({ status, whole: answer.complete, text, id: String(headers['x-request-id']) })
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('error', finish).on('close', finish)
    })
    sent.end(JSON.stringify(body))
  })
}
