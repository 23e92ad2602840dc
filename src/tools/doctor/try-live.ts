import { explainRequest } from '../../gateway/explain.ts'
import { createGateway, type Gateway } from '../../gateway/gateway.ts'
import { priceList } from '../../gateway/pricing.ts'
import { type BillingRecord, billingRecord, Failure, type CompiledConfig } from '../../domain/index.ts'
import { createSecret, hashSecret, hintOfSecret, systemClock } from '../../util/index.ts'
import { createLog } from '../../observe/index.ts'
import { operations } from '../../operations/index.ts'
import { measurePicture } from '../../simulator/pictures/measure.ts'
import { crc32, deflateSync } from 'node:zlib'

/** One request to buy. */
export type LiveTrial = {
  readonly model: string
  readonly operation: string
  /** The hold for it, in the currency of the configuration; null if no price is known in advance. */
  readonly atMost: string | null
}

/** The result of a trial. */
export type LiveResult = LiveTrial & {
  readonly status: number | null
  readonly ms: number
  /** `1024x1024`, or the media type of an image that cannot be measured. */
  readonly pictures: readonly string[]
  readonly charge: Pick<BillingRecord, 'amount' | 'currency' | 'state' | 'text' | 'vendor_cost'> | null
  /** The shape of an answer that does not match its description. */
  readonly unrecognised: string | null
  readonly error: string | null
}

const linkMs = 60_000
const settleTries = 200
const settleMs = 50
const editedSide = 256
const errorCharsMax = 300

/**
 * Every operation that creates images, of the offered models that cost money; with `simulated` also those of simulated
 * upstreams.
 */
export async function planLive(plan: CompiledConfig, simulated: boolean): Promise<readonly LiveTrial[]> {
  const pictures = new Set(operations.filter(({ traits }) => traits.images !== undefined).map(({ name }) => name))
  const trials: LiveTrial[] = []
  for (const { name, operations: served } of (await priceList(plan)).models) {
    const model = plan.models.get(name)
    if (!simulated && model?.upstreams.every(({ upstream }) => upstream.url.startsWith('simulator:'))) continue
    for (const operation of served.filter(one => pictures.has(one)))
      trials.push({ model: name, operation, atMost: quoteOf(plan, name, operation) })
  }
  return trials
}

function quoteOf(plan: CompiledConfig, model: string, operation: string): string | null {
  try {
    const request = { model, operation, size: undefined, quality: undefined, n: 1 }
    return explainRequest(plan, request).quote?.at_most ?? null
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return null
  }
}

/** Sends each request through a gateway in this process, whose storage is in memory: the real books do not change. */
export async function* tryLive(plan: CompiledConfig, trials: readonly LiveTrial[]): AsyncIterable<LiveResult> {
  const { tls: _, ...server } = plan.server
  const here = { host: '127.0.0.1', port: 0 }
  const alone: CompiledConfig = {
    ...plan,
    storage: 'sqlite::memory:',
    counters: 'memory:',
    server: { ...server, listen: here, ops: undefined, workers: 1 },
  }
  const gateway = await createGateway(plan.file, { plan: alone, log: createLog({ level: 'silent' }) })
  try {
    const { url } = await gateway.listen()
    const secret = createSecret()
    const kept = { hash: hashSecret(secret), hint: hintOfSecret(secret) }
    await gateway.storage.keys.create({ name: 'doctor', user: 'local', group: null, ...kept })
    for (const trial of trials) yield await tryOne(gateway, url, secret, trial)
  } finally {
    await gateway.close()
  }
}

async function tryOne(gateway: Gateway, url: string, secret: string, trial: LiveTrial): Promise<LiveResult> {
  const { model, operation } = trial
  const startedAt = systemClock.now()
  const none = { ...trial, status: null, pictures: [], charge: null, unrecognised: null }
  const route = gateway.plan.routes.find(one => one.operation === operation && one.stream !== 'always')
  if (!route) return { ...none, ms: 0, error: 'no route serves it' }
  const before = unrecognisedOf(gateway, model)
  const headers = { authorization: `Bearer ${secret}` }
  try {
    const response = await fetch(url + route.path.replace('{model}', encodeURIComponent(model)), {
      method: 'POST',
      headers: route.body === 'json' ? { ...headers, 'content-type': 'application/json' } : headers,
      body: bodyOf(model, operation, route.body === 'json'),
    })
    const text = await response.text()
    const ms = systemClock.now() - startedAt
    const charge = await chargeOf(gateway, response.headers.get('x-request-id') ?? '')
    const after = unrecognisedOf(gateway, model)
    return {
      ...trial,
      status: response.status,
      ms,
      pictures: response.ok ? await picturesIn(text) : [],
      charge,
      unrecognised: after && after.count > (before?.count ?? 0) ? after.shape : null,
      error: response.ok ? null : text.replaceAll(/\s+/g, ' ').slice(0, errorCharsMax),
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ...none, ms: systemClock.now() - startedAt, error: reason }
  }
}

/** Edits send an image of their own; in JSON as a data: URL. */
function bodyOf(model: string, operation: string, isJson: boolean): string | FormData {
  const own = operations.find(({ name }) => name === operation)
  const fields = { model, prompt: 'a red square', n: 1 }
  if (own?.traits.images !== 'edited') return JSON.stringify(fields)
  const picture = smallestPicture(editedSide)
  if (isJson) return JSON.stringify({ ...fields, image: `data:image/png;base64,${picture.toString('base64')}` })
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  form.append('image', new Blob([picture], { type: 'image/png' }), 'square.png')
  return form
}

function unrecognisedOf(gateway: Gateway, model: string) {
  return gateway.status().unrecognised.find(one => one.model === model)
}

/** A charge settles when the last bytes of its answer are sent. */
async function chargeOf(gateway: Gateway, id: string): Promise<LiveResult['charge']> {
  for (let i = 0; i < settleTries; i++) {
    await gateway.storage.flush()
    const charge = gateway.open > 0 ? undefined : await gateway.storage.ledger.find(id)
    if (charge && charge.state !== 'reserved') return billingRecord(charge, gateway.plan.plugins.known)
    if (gateway.open === 0 && !charge) return null
    await systemClock.sleep(settleMs)
  }
  return null
}

type Item = { readonly b64_json?: string; readonly url?: string }

async function picturesIn(text: string): Promise<readonly string[]> {
  const { data = [] } = JSON.parse(text) as { readonly data?: readonly Item[] }
  return Promise.all(data.map(lookAt))
}

async function lookAt({ b64_json: base64, url = '' }: Item): Promise<string> {
  try {
    const bytes = base64 === undefined ? await readLink(url) : Buffer.from(base64, 'base64')
    const pixels = measurePicture(bytes)
    return pixels ? `${pixels.width}x${pixels.height}` : `${bytes.length} bytes of an unknown format`
  } catch {
    return 'a link that does not work'
  }
}

async function readLink(url: string): Promise<Buffer> {
  const limit = new AbortController()
  const late = systemClock.after(linkMs, () => limit.abort())
  try {
    const response = await fetch(url, { signal: limit.signal })
    return Buffer.from(await response.arrayBuffer())
  } finally {
    late.cancel()
  }
}

/** A red square with `side` pixels on each side, as PNG: the image that edits send. */
function smallestPicture(side: number): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.set([8, 2], 8)
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(side * 3, Buffer.of(200, 30, 30))])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: side }, () => row)))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)])
  whole.writeUInt32BE(data.length, 0)
  whole.writeUInt32BE(crc32(whole.subarray(4, -4)), whole.length - 4)
  return whole
}
