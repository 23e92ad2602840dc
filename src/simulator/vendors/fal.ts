import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { decimal, either, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Shape } from './fields.ts'
import type { Job } from './jobs.ts'
import { times } from './ledger.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest, Vendor } from './open-vendor.ts'
import { eachOf, openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { megapixels, shapeAt } from './shapes.ts'

const vendor: Omit<Vendor, 'name' | 'routes'> = {
  words: {
    statuses: { unknown_field: 422, missing_field: 422, invalid_value: 422, moderated: 422, content_type: 422 },
    codes: {
      missing_field: 'missing',
      unknown_field: 'extra_forbidden',
      moderated: 'content_policy_violation',
      otherwise: 'value_error',
    },
    body: ({ status, code, message, field }) =>
      status === 422
        ? { detail: [{ loc: ['body', ...(field?.split('.') ?? [])], msg: message, type: code, input: null }] }
        : { detail: message },
  },
  credential: call => bearer(call, 'Key'),
  linkMinutes: 24 * 60,
}

/** fal for synchronous requests. */
export const fal: SimulatedUpstream = openVendor({ ...vendor, name: 'fal', routes: { 'POST /{model}': run } })

/** fal's queue, which is a separate host: submit, status, response. Only the submit has the model's sub path. */
export const falQueue: SimulatedUpstream = openVendor({
  ...vendor,
  name: 'fal-queue',
  routes: {
    'GET /{app}/requests/{id}/status': status,
    'GET /{app}/requests/{id}': response,
    'PUT /{app}/requests/{id}/cancel': cancel,
    'POST /{model}': submit,
  },
})

const presets: { readonly [name: string]: readonly [width: number, height: number] } = {
  square_hd: [1024, 1024],
  square: [512, 512],
  portrait_4_3: [768, 1024],
  portrait_16_9: [576, 1024],
  landscape_4_3: [1024, 768],
  landscape_16_9: [1024, 576],
}
const common = {
  prompt: must(text),
  num_images: whole(1, 4),
  seed: whole(0, 4_294_967_295),
  sync_mode: flag,
  output_format: oneOf('png', 'jpeg', 'webp'),
}
const size = either(
  shape({ width: must(whole(1, 4096)), height: must(whole(1, 4096)) }),
  oneOf(...Object.keys(presets)),
)
const diffusion = {
  ...common,
  image_size: size,
  num_inference_steps: whole(1, 50),
  guidance_scale: decimal(0, 20),
  enable_safety_checker: flag,
  acceleration: text,
}
const ratios = { ...common, aspect_ratio: text, resolution: oneOf('0.5K', '1K', '2K', '4K'), limit_generations: flag }
const link = image('link', 'data-url')
const urls = { image_urls: must(list(link, 14)) }

type Model = {
  readonly fields: Shape
  /** Dollars per picture, by resolution or by quality and size; otherwise per megapixel. */
  readonly prices?: { readonly [key: string]: string }
  readonly perMegapixel?: string
  /** The response has one picture, as `image`. */
  readonly single?: boolean
}

const banana = { fields: ratios, prices: { '0.5K': '0.06', '1K': '0.08', '2K': '0.12', '4K': '0.16' } }
const bananaPro = { fields: ratios, prices: { '1K': '0.15', '2K': '0.15', '4K': '0.30' } }
const gpt = { ...common, image_size: size, quality: oneOf('low', 'medium', 'high', 'auto'), background: text }
const gptPrices = { low: '0.006', medium: '0.053', high: '0.211', auto: '0.053' }
const models: { readonly [name: string]: Model } = {
  'fal-ai/flux/dev': { fields: diffusion, perMegapixel: '0.025' },
  'fal-ai/flux/schnell': { fields: diffusion, perMegapixel: '0.003' },
  'fal-ai/flux/dev/image-to-image': {
    fields: { ...diffusion, image_url: must(link), strength: decimal(0, 1) },
    perMegapixel: '0.03',
  },
  'fal-ai/nano-banana-2': banana,
  'fal-ai/nano-banana-2/edit': { ...banana, fields: { ...ratios, ...urls } },
  'fal-ai/nano-banana-pro': bananaPro,
  'fal-ai/nano-banana-pro/edit': { ...bananaPro, fields: { ...ratios, ...urls } },
  'fal-ai/gpt-image-2': { fields: gpt, prices: gptPrices },
  'fal-ai/gpt-image-2/edit': { fields: { ...gpt, ...urls, mask_url: link }, prices: gptPrices },
  'fal-ai/esrgan': {
    fields: { image_url: must(link), scale: decimal(1, 8), output_format: common.output_format },
    perMegapixel: '0.001',
    single: true,
  },
}

type ReadRequest = {
  readonly order: Order
  readonly model: Model
  readonly inline: boolean
  readonly sketches: readonly Sketch[]
}

async function readRequest(request: VendorRequest): Promise<ReadRequest> {
  const name = request.params['model'] ?? ''
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (!model) throw new Problem('not_found', `Application '${name}' not found`)
  const read = readJson(request, model.fields) as {
    prompt?: string
    num_images?: number
    image_size?: string | Pixels
    aspect_ratio?: string
    resolution?: string
    quality?: string
    sync_mode?: boolean
    output_format?: 'png' | 'jpeg' | 'webp'
  }
  const pixels = pixelsOf(read)
  const order = await openOrder(request, name, read.prompt ?? '')
  const price =
    model.perMegapixel === undefined
      ? model.prices?.[read.resolution ?? read.quality ?? ('quality' in model.fields ? 'auto' : '1K')]
      : times(model.perMegapixel, Math.ceil(megapixels(pixels)))
  if (price === undefined) throw new Problem('invalid_value', 'No such resolution.', { field: 'resolution' })
  const wanted = { ...pixels, format: read.output_format ?? ('resolution' in model.fields ? 'png' : 'jpeg'), price }
  return { order, model, inline: read.sync_mode ?? false, sketches: order.sketch(read.num_images ?? 1, wanted) }
}

function pixelsOf(read: { image_size?: string | Pixels; aspect_ratio?: string; resolution?: string }): Pixels {
  const { image_size: size = 'landscape_4_3', aspect_ratio: ratio, resolution } = read
  if (ratio !== undefined || resolution !== undefined) {
    const factor = Number((resolution ?? '1K').slice(0, -1))
    return shapeAt(ratio === undefined || ratio === 'auto' ? '1:1' : ratio, (1024 * factor) ** 2, 16)
  }
  if (typeof size !== 'string') return size
  const [width = 1024, height = 768] = presets[size] ?? []
  return { width, height }
}

async function run(request: VendorRequest): Promise<Played> {
  const read = await readRequest(request)
  refuseIfDemanded(read.order)
  for (const sketch of read.sketches) read.order.make(sketch)
  return read.order.answer(await resultOf(read))
}

function refuseIfDemanded({ demands }: Order): void {
  if (demands.has('refused')) {
    throw new Problem('moderated', 'The content could not be processed because it was flagged.', { field: 'prompt' })
  }
}

async function resultOf({ order, model, inline, sketches }: ReadRequest): Promise<object> {
  const shown = sketches.filter(({ failed }) => !failed)
  const hasResolution = 'resolution' in model.fields
  const images = await eachOf(shown, async sketch => ({
    url: inline ? await sketch.dataUrl() : sketch.link(),
    content_type: sketch.mime,
    file_name: `${sketch.index}.${sketch.format}`,
    file_size: (await sketch.bytes()).length,
    width: hasResolution ? null : sketch.width,
    height: hasResolution ? null : sketch.height,
  }))
  if (model.single) return { image: images[0] }
  if (hasResolution) return { images, description: '' }
  const flagged = images.map(() => order.demands.has('moderated'))
  return { images, timings: { inference: 0.1 }, seed: 42, has_nsfw_concepts: flagged, prompt: order.demands.prompt }
}

type Queued = { readonly app: string; readonly read: ReadRequest }

async function submit(request: VendorRequest): Promise<Played> {
  const read = await readRequest(request)
  const app = (request.params['model'] ?? '').split('/').slice(0, 2).join('/')
  const job = read.order.open({ app, read }, read.sketches, request.id)
  return read.order.answer({ status: 'IN_QUEUE', ...urlsOf(job), queue_position: 0 })
}

function urlsOf({ id, about: { app, read } }: Job<Queued>): object {
  const at = `${read.order.pollUrl}/${app}/requests/${id}`
  return { request_id: id, response_url: at, status_url: `${at}/status`, cancel_url: `${at}/cancel` }
}

function findJob({ desk, params }: VendorRequest): Job<Queued> {
  const job = desk.jobs.find<Queued>(params['id'])
  if (!job) throw new Problem('not_found', 'Request not found')
  // The queue has no address with a sub path before `requests`.
  if (job.about.app !== params['app']) throw new Problem('not_found', 'Method Not Allowed', { status: 405 })
  return job
}

function status(request: VendorRequest): Played {
  const job = findJob(request)
  const state = job.poll()
  if (state === 'expired') throw new Problem('not_found', 'Request not found')
  const urls = urlsOf(job)
  if (state === 'waiting') return answerJson(202, { status: 'IN_QUEUE', ...urls, queue_position: 0 })
  if (state === 'running') return answerJson(202, { status: 'IN_PROGRESS', ...urls, logs: null })
  const failed = state === 'failed' && { error: 'The worker failed.', error_type: 'internal_error' }
  const flagged = state === 'refused' && { error: 'The prompt was flagged.', error_type: 'content_policy_violation' }
  return answerJson(200, {
    status: 'COMPLETED',
    ...urls,
    logs: null,
    metrics: { inference_time: 0.1 },
    ...failed,
    ...flagged,
  })
}

async function response(request: VendorRequest): Promise<Played> {
  const job = findJob(request)
  const state = job.state()
  if (state === 'waiting' || state === 'running')
    throw new Problem('not_found', 'Request is still in progress', { status: 400 })
  if (state === 'failed' || state === 'canceled') throw new Problem('broken', 'The worker failed.')
  if (state === 'expired') throw new Problem('not_found', 'Request not found')
  refuseIfDemanded(job.about.read.order)
  return answerJson(200, await resultOf(job.about.read))
}

function cancel(request: VendorRequest): Played {
  findJob(request).cancel()
  return answerJson(202, { status: 'CANCELLATION_REQUESTED' })
}
