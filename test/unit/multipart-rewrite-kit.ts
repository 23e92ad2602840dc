import { scanObject } from '../../src/engine/index.ts'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { multipartRewrite } from '../../plugins/multipart-rewrite/plugin.ts'
import type { Body, Family, FilePart, Model, Part, CompiledConfig, Route, Upstream } from '../../src/domain/index.ts'
import type { RequestContext, Host, Target } from '../../src/plugin-api/index.ts'
import { Slots } from '../../src/domain/index.ts'
import { Ids, systemClock, systemRandom } from '../../src/util/index.ts'

export const boundary = 'xYzZY'
export const contentType = `multipart/form-data; boundary=${boundary}`
export const MiB = 1024 * 1024

/** The first bytes of a picture, followed by content that makes it unique. */
export function picture(kind: 'png' | 'jpeg' | 'webp', bytes: number, seed = 1): Buffer {
  const magic = { png: '\x89PNG\r\n\x1a\n', jpeg: '\xff\xd8\xff\xe0', webp: 'RIFF\x10\0\0\0WEBPVP8 ' }[kind]
  const content = Buffer.alloc(bytes)
  const random = randomFrom(seed)
  for (let at = 0; at < bytes; at++) content[at] = random(256)
  content.write(magic, 'latin1')
  return content
}

/** Whole numbers below a bound, the same for the same seed (xorshift32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

export const textHead = (name: string) => `Content-Disposition: form-data; name="${name}"`
export const fileHead = (name: string, fileName = 'a.png') => `${textHead(name)}; filename="${fileName}"`

/** The bytes of a form; a part is its header lines (without the last line end) and its content. */
export function rawForm(parts: readonly (readonly [head: string, content: string | Buffer])[], by = boundary): Buffer {
  const pieces = parts.flatMap(([head, content]) => [
    Buffer.from(`--${by}\r\n${head}\r\n\r\n`),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from(`--${by}--\r\n`)])
}

/** A stream that gives these chunks and ends. */
export function streamOf(...chunks: readonly (Buffer | string)[]): Readable {
  const left = chunks.map(chunk => Buffer.from(chunk as string))
  return new Readable({
    read() {
      this.push(left.shift() ?? null)
    },
  })
}

export async function readAll(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export type Form = Extract<Body, { kind: 'form' }>

/** The plugin as a gateway would create it, with a spool of its own. */
export async function startPlugin(
  t: { teardown(end: () => Promise<void>): void },
  change: { memoryBytesMax?: number; spoolBytesMax?: number; spoolDir?: string; textBytesMax?: string } = {},
) {
  const spoolDir = change.spoolDir ?? join(tmpdir(), `multipart-rewrite-${randomUUID()}`)
  if (change.spoolDir === undefined) await mkdir(spoolDir, { mode: 0o700 })
  const plan: CompiledConfig = {
    secretFiles: new Map(),
    settings: {},
    revision: '000000000000',
    file: 'gateway.yaml',
    currency: 'USD',
    timeZone: 'UTC',
    budgetThresholds: [80, 100],
    server: {
      listen: { host: '127.0.0.1', port: 0 },
      ops: undefined,
      bodyBytesMax: 32 * MiB,
      logLevel: 'info',
      memoryBytesMax: change.memoryBytesMax ?? 192 * MiB,
      spoolBytesMax: change.spoolBytesMax ?? 4096 * MiB,
      workers: 1,
      drainMs: 1000,
      drainWaitMs: 0,
      heartbeatMs: undefined,
      agentsAccepting102: [],
      corsOrigins: [],
      console: false,
    },
    storage: 'memory:',
    counters: 'memory:',
    groups: new Map(),
    upstreams: new Map(),
    pipeline: [],
    plugins: { inUse: [], known: [] },
    families: new Map(),
    models: new Map(),
    routes: [],
  }
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const hooks = multipartRewrite.create(
    {
      text_bytes_max: change.textBytesMax ?? '256KiB',
      text_fields: ['model', 'prompt', 'n', 'size', 'quality', 'response_format', 'stream'],
      spool_dir: spoolDir,
    },
    // This plugin stores no rows.
    {
      stores: undefined as unknown as Host['stores'],
      clock: systemClock,
      random: systemRandom,
      ids: new Ids(),
      plan,
      log,
      parseObject: scanObject,
      keep: (_, create) => create(),
    },
  )
  t.teardown(async () => {
    await hooks.close?.()
    if (change.spoolDir === undefined) await rm(spoolDir, { recursive: true })
  })

  const begin = () => newExchange(plan)
  /** Reads one body as the engine would pass it. */
  async function read(
    source: Readable | Buffer,
    how: { contentType?: string; bytes?: number | undefined; exchange?: RequestContext } = {},
  ): Promise<Form> {
    const stream = Buffer.isBuffer(source) ? streamOf(source) : source
    const bytes = 'bytes' in how ? how.bytes : Buffer.isBuffer(source) ? source.length : undefined
    const body = await hooks.onBody?.(how.exchange ?? begin(), {
      kind: 'stream',
      source: stream,
      contentType: how.contentType ?? contentType,
      bytes,
    })
    if (body?.kind !== 'form') throw new Error('no form came of it')
    return body
  }
  return { hooks, read, begin, spoolDir, leftovers: () => leftovers(spoolDir) }
}

/** Files of a spool with a name, and open files that have none yet. */
export async function leftovers(spoolDir: string): Promise<readonly string[]> {
  const named = await readdir(spoolDir)
  const descriptors = process.platform === 'linux' ? await readdir('/proc/self/fd') : []
  const links = await Promise.all(descriptors.map(number => readlink(`/proc/self/fd/${number}`).catch(() => '')))
  return [...named, ...links.filter(link => link.startsWith(spoolDir))]
}

const route: Route = {
  method: 'POST',
  path: '/v1/images/edits',
  upstreamPath: '/v1/images/edits',
  stream: 'field',
  origin: { file: 'gateway.yaml', line: 1, col: 1 },
  operation: 'image.edit',
  dialect: 'openai',
  body: 'form',
  bodyBytesMax: 32 * MiB,
  reuse: undefined,
  serve: undefined,
}

function newExchange(plan: CompiledConfig): RequestContext {
  return {
    id: randomUUID(),
    startedAt: 0,
    head: { method: 'POST', path: route.path, query: '', headers: {}, remote: '127.0.0.1' },
    route,
    params: {},
    // No hook of this plugin uses it.
    dialect: undefined as unknown as RequestContext['dialect'],
    plan,
    slots: new Slots(),
    notes: { forwarded: [], dropped: [], charge: false, inputTokens: null, outputTokens: null },
    payer: '',
    limits: [],
    answerHeaders: {},
  }
}

export function targetOf(body: Body): Target {
  const origin = { file: 'gateway.yaml', line: 1, col: 1 }
  const family: Family = {
    name: 'f',
    origin,
    streams: new Set(),
    nMax: 10,
    forward: new Map(),
    facets: new Map(),
    notes: { en: [], zh: [] },
  }
  const upstream: Upstream = {
    name: 'u',
    url: 'http://127.0.0.1',
    credential: [],
    query: {},
    headers: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1, afterLeaveMs: 1 },
    answerBytesMax: 1,
    reuse: undefined,
    cooldown: { failures: 3, forMs: 10_000 },
  }
  const model: Model = {
    name: 'm',
    origin,
    family,
    upstreams: [{ upstream, weight: 1, priority: 1, sendAs: 'm' }],
    prices: new Map(),
    free: true,
    limits: {},
    enabled: true,
  }
  return { model, family, upstream, sendAs: 'm', body, stream: false, chargesItems: false }
}

export const texts = (parts: readonly Part[]): readonly (readonly [string, string])[] =>
  parts.flatMap(part => (part.kind === 'text' ? [[part.name, part.value] as const] : []))

export const files = (parts: readonly Part[]): readonly FilePart[] =>
  parts.flatMap(part => (part.kind === 'file' ? [part] : []))
