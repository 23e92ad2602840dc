import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createGateway, createKey } from '../../src/index.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Asked, Told } from './caller.ts'

/** The effect of one request on the gateway. */
export type Turn = {
  readonly name: string
  readonly bytes: number
  readonly status: number
  readonly longestMs: number
  /** The largest resident set during the request, and its growth. */
  readonly peakBytes: number
  readonly grownBytes: number
  readonly wallMs: number
  readonly told: readonly string[]
}

/**
 * The longest turn of this thread's event loop, in CPU time, which excludes other work on the machine.
 * It keeps the loop awake to read the clock in each turn.
 */
class TurnWatch {
  #cpu = cpuMs()
  #longest = 0
  #turns = 0
  readonly #before = process.memoryUsage.rss()
  #most = this.#before
  #running = true

  constructor() {
    setImmediate(this.#look)
  }

  stop(): { readonly longestMs: number; readonly peakBytes: number; readonly grownBytes: number } {
    this.#running = false
    return { longestMs: this.#longest, peakBytes: this.#most, grownBytes: this.#most - this.#before }
  }

  readonly #look = (): void => {
    const now = cpuMs()
    this.#longest = Math.max(this.#longest, now - this.#cpu)
    this.#cpu = now
    // System calls in each turn would be most of its work.
    if (this.#turns++ % 16 === 0) {
      this.#most = Math.max(this.#most, process.memoryUsage.rss())
      this.#cpu = cpuMs()
    }
    if (this.#running) setImmediate(this.#look)
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** A gateway in this thread with all features; its client and its upstream have a thread of their own. */
export class TurnBench implements AsyncDisposable {
  readonly #gateway: Awaited<ReturnType<typeof createGateway>>
  readonly #worker: Worker
  readonly #folder: string
  readonly #url: string
  readonly #key: string
  readonly #longTurns: string[]

  private constructor(parts: {
    gateway: Awaited<ReturnType<typeof createGateway>>
    worker: Worker
    folder: string
    url: string
    key: string
    longTurns: string[]
  }) {
    this.#gateway = parts.gateway
    this.#worker = parts.worker
    this.#folder = parts.folder
    this.#url = parts.url
    this.#key = parts.key
    this.#longTurns = parts.longTurns
  }

  static async open(): Promise<TurnBench> {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-growth-'))
    const worker = new Worker(new URL('caller.ts', import.meta.url))
    const upstream = await new Promise<string>(resolve => worker.once('message', resolve))
    const longTurns: string[] = []
    const nothing = (): void => undefined
    const log = {
      debug: nothing,
      info: nothing,
      warn: (facts: object, text: string) => {
        if (text.includes('blocked the event loop')) longTurns.push(JSON.stringify(facts))
      },
      error: nothing,
      request: nothing,
      hide: nothing,
      flush: () => Promise.resolve(),
    }
    const gateway = await createGateway(
      { text: config, file: join(folder, 'gateway.yaml') },
      { env: { UPSTREAM: upstream, STORAGE: `sqlite:${join(folder, 'tollgate.db')}` }, log },
    )
    const { url } = await gateway.listen()
    const { secret } = await createKey(gateway.storage, { name: 'growth', user: 'local', budget: 1_000_000_000_000 })
    return new TurnBench({ gateway, worker, folder, url, key: secret, longTurns })
  }

  async send(request: Omit<Asked, 'url' | 'key'>, name: string): Promise<Turn> {
    await sleep(20)
    this.#longTurns.length = 0
    const watch = new TurnWatch()
    const result = await new Promise<Told>(resolve => {
      this.#worker.once('message', resolve)
      this.#worker.postMessage({ ...request, url: this.#url, key: this.#key } satisfies Asked, [])
    })
    while (this.#gateway.open > 0) await sleep(2)
    await sleep(5)
    const { bytes, status, ms: wallMs } = result
    return { name, bytes, status, wallMs, told: [...this.#longTurns], ...watch.stop() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway.close()
    await this.#worker.terminate()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

const config = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", body_max: 33MiB }
storage: "\${STORAGE}"
counters: "memory:"
groups: { default: { rpm: 1000000, tpm: 1000000000000 } }
upstreams: { fake: { url: "\${UPSTREAM}" } }
pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, token-usage, translate]
families:
  chat: { streams: [chat, responses], token-usage: { count_characters_of: input } }
  image:
    streams: [image.generate]
    forward: { image.generate: [model, prompt, n, size, image], image.edit: { all: true, except: [response_format] } }
    multipart-rewrite: { files: { image: { send_as: { one: image, many: "image[]" } }, mask: { keep: first } } }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]
      tier_from: [output]
      otherwise: 2K
  told:
    forward: { image.generate: [model, prompt, n], image.edit: [model, prompt, n, image, images] }
    image-tier-billing: { lines: [{ per: input_image }] }
    translate:
      request: { prompt: "{prompt}", n: "{n}", images: [{ url: "{image.url}" }] }
      answer: { at: output, picture: . }
  made:
    forward: { image.generate: [model, prompt, n] }
    calls: { image.generate: /submit }
    image-tier-billing: {}
    translate:
      request: { prompt: "{prompt}", n: "{n}" }
      answer: { at: output, picture: . }
      job: { id: id, poll: { path: "/{id}" }, state: status, running: [run], done: [done], failed: [failed], every: 1ms, within: 20s }
  measured:
    forward: { image.edit: [model, prompt, n, image, images] }
    image-tier-billing: { lines: [{ per: megapixel, of: input, price: input_megapixel, otherwise: 1 }] }
models:
  told: { family: told, upstream: fake, prices: { image: "0.02", input_image: "0.001" } }
  made: { family: made, upstream: fake, prices: { image: "0.02" } }
  measured: { family: measured, upstream: fake, prices: { image: "0.02", input_megapixel: "0.001" } }
  m: { family: chat, upstreams: [{ upstream: fake, send_as: another }], prices: { input: "0.50", output: "1.50" } }
  image: { family: image, upstream: fake, prices: { 1K: "0.02", 2K: "0.04" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai, body: json }
  - { match: POST /v1/responses, operation: responses, dialect: openai, body: json }
  - { match: POST /v1/rerank, operation: rerank, dialect: cohere, body: json }
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai, body: json, reuse: false }
  - { match: POST /v1/images/edits, operation: image.edit, dialect: openai, body: form, reuse: false }
  - { match: POST /json/edits, operation: image.edit, dialect: openai, body: json, reuse: false }
`
