import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, either, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder, record } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import type { Worded } from './problem.ts'
import { megapixels, parseSize, seconds } from './shapes.ts'

/** Seedream at Ark: generations, edits, sets and layers at one address; a stream has only final pictures. */
export const seedream: SimulatedUpstream = openVendor({
  name: 'seedream',
  words: {
    statuses: { content_type: 400 },
    codes: {
      unauthorized: 'AuthenticationError',
      missing_field: 'MissingParameter',
      not_found: 'InvalidEndpointOrModel.NotFound',
      moderated: 'OutputImageSensitiveContentDetected',
      busy: 'RateLimitExceeded.EndpointRPMExceeded',
      broken: 'InternalServiceError',
      otherwise: 'InvalidParameter',
    },
    body: errorOf,
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: {
    'POST /api/v3/images/generations': generate,
    'POST /api/plan/v3/images/generations': generate,
  },
})

function errorOf({ code, message, field, status }: Pick<Worded, 'code' | 'message' | 'field' | 'status'>): object {
  const type = status === 401 ? 'Unauthorized' : status < 500 ? 'BadRequest' : 'InternalServerError'
  return { error: { code, message, param: field ?? '', type } }
}

const picture = image('link', 'data-url')
const fields = {
  model: must(text),
  prompt: must(text),
  image: either(picture, list(picture, 14)),
  size: text,
  seed: whole(-1, 2_147_483_647),
  sequential_image_generation: oneOf('auto', 'disabled'),
  sequential_image_generation_options: shape({ max_images: whole(1, 15) }),
  layer_decomposition: flag,
  background: text,
  output_format: oneOf('png', 'jpeg'),
  watermark: flag,
  stream: flag,
  response_format: oneOf('url', 'b64_json'),
  guidance_scale: decimal(1, 10),
  optimize_prompt: flag,
  optimize_prompt_options: shape({ mode: oneOf('standard', 'fast') }),
  tools: list(anything, 5),
}

type Model = {
  /** The range of the total number of pixels. */
  readonly area: readonly [least: number, most: number]
  readonly tiers: readonly string[]
  readonly references: number
  readonly streams: boolean
  readonly price: (pixels: Pixels) => string
}

const pro: Model = {
  area: [921_600, 4_624_220],
  tiers: ['1K', '1.5K', '2K'],
  references: 10,
  streams: false,
  price: pixels => (megapixels(pixels) <= 2.61 ? '0.045' : '0.09'),
}
const four: Model = {
  area: [921_600, 16_777_216],
  tiers: ['1K', '2K', '4K'],
  references: 14,
  streams: true,
  price: () => '0.03',
}
/**
 * The first entry whose name is part of the model's name, with dots or dashes, applies; the id of an endpoint has no
 * name.
 */
const models: readonly (readonly [name: string, model: Model])[] = [
  ['5.5', { ...pro, price: pixels => (megapixels(pixels) <= 2.6 ? '0.02' : '0.035') }],
  ['pro', pro],
  ['flash', { ...pro, price: () => '0.018' }],
  ['lite', { ...four, area: [3_686_400, 16_777_216], tiers: ['2K', '3K', '4K'], price: () => '0.035' }],
  ['4.5', { ...four, area: [3_686_400, 16_777_216], tiers: ['2K', '4K'], price: () => '0.04' }],
  ['4.0', four],
  ['ep.', four],
]

type ReadRequest = {
  readonly order: Order
  readonly sketches: readonly Sketch[]
  readonly layers: boolean
  readonly inline: boolean
  readonly references: number
}

async function generate(request: VendorRequest): Promise<Played> {
  const read = readJson(request, fields)
  const model = models.find(([name]) => read.model.replaceAll('-', '.').includes(name))?.[1]
  if (!model) throw new Problem('not_found', `The model or endpoint ${read.model} does not exist.`, { field: 'model' })
  const references = read.image === undefined ? 0 : Array.isArray(read.image) ? read.image.length : 1
  if (references > model.references) {
    throw new Problem('invalid_value', `At most ${model.references} images.`, { field: 'image' })
  }
  if (read.stream && !model.streams) {
    throw new Problem('invalid_value', 'The model does not support streaming.', { field: 'stream' })
  }
  const pixels = pixelsOf(model, read.size ?? '2K')
  const order = await openOrder(request, read.model, read.prompt, read.stream)
  const set = read.sequential_image_generation === 'auto'
  const most = Math.min(15 - references, read.sequential_image_generation_options?.max_images ?? 15)
  const layers = read.layer_decomposition ?? false
  const count = layers ? 4 : set ? most : 1
  const format = read.output_format ?? 'jpeg'
  // The base picture, then each layer at its own size, all at half the price.
  const half = { width: Math.round(pixels.width / 2), height: Math.round(pixels.height / 2) }
  const wanted = (index: number) => {
    const own = layers && index > 0 ? half : pixels
    return { ...own, format, price: layers ? halfOf(model.price(own)) : model.price(own) }
  }
  if (order.demands.has('refused')) {
    throw new Problem('moderated', 'The request failed because the input text may contain sensitive information.')
  }
  const sketches = order
    .sketch(count, wanted)
    .map(one => ({ ...one, failed: one.failed || order.demands.has('moderated') }))
  const imageRequest = { order, sketches, layers, inline: read.response_format === 'b64_json', references }
  return read.stream ? stream(request, imageRequest) : answer(request, imageRequest)
}

function halfOf(price: string): string {
  return String(Number(price) / 2)
}

/** A word such as `2K` is an area, whose shape the model selects; a size gives exact pixels. */
function pixelsOf({ area: [least, most], tiers }: Model, size: string): Pixels {
  if (tiers.includes(size)) {
    const factor = Number(size.slice(0, -1)) / 2
    return { width: 1760 * factor, height: 2368 * factor }
  }
  const pixels = parseSize(size)
  const area = (pixels?.width ?? 0) * (pixels?.height ?? 0)
  const ratio = (pixels?.width ?? 0) / (pixels?.height ?? 1)
  if (pixels && area >= least && area <= most && ratio >= 1 / 16 && ratio <= 16) return pixels
  const message = `size must be one of ${tiers.join(', ')} or WxH of ${least} to ${most} pixels`
  throw new Problem('invalid_value', message, { field: 'size' })
}

const lost = {
  code: 'OutputImageSensitiveContentDetected',
  message: 'The request failed because the output image may contain sensitive information.',
}

async function itemOf({ inline, layers }: ReadRequest, sketch: Sketch): Promise<object> {
  if (sketch.failed) return { error: lost }
  const { index, width, height } = sketch
  const details = {
    name: `layer ${index}`,
    description: 'A part of the picture.',
    bounding_box: { absolute: [0, 0, width, height], normalized: [0, 0, 500, 500] },
  }
  const layer = layers && { z_index: index, ...(index > 0 && details) }
  const at = inline ? { b64_json: await sketch.base64() } : { url: sketch.link() }
  return { ...at, size: `${width}x${height}`, output_format: sketch.format, ...layer }
}

async function answer(request: VendorRequest, imageRequest: ReadRequest): Promise<Played> {
  const { order, sketches } = imageRequest
  for (const sketch of sketches) order.make(sketch)
  if (sketches.every(({ failed }) => failed)) throw new Problem('moderated', lost.message)
  const data = await eachOf(sketches, sketch => itemOf(imageRequest, sketch))
  const { model } = order.entry
  return order.answer({ model, created: seconds(request.site.now()), data, usage: usageOf(imageRequest) })
}

function usageOf({ sketches, references }: ReadRequest): object {
  const made = sketches.filter(({ failed }) => !failed)
  const tokens = made.reduce((sum, { width, height }) => sum + Math.floor((width * height) / 256), 0)
  return {
    generated_images: made.length,
    output_tokens: tokens,
    total_tokens: tokens,
    ...(references > 0 && { input_images: references }),
  }
}

/** `partial_succeeded` is a final picture; `completed` has no picture. */
function stream(request: VendorRequest, imageRequest: ReadRequest): Played {
  const { order, sketches } = imageRequest
  const eventOf = (type: string, more: object) =>
    record({ type, model: order.entry.model, created_at: seconds(request.site.now()), ...more }, type)
  const events = sketches.map(sketch => async () => {
    order.make(sketch)
    const role = sketch.failed ? 'partial_failed' : 'partial_succeeded'
    const { output_format: _, ...item } = (await itemOf(imageRequest, sketch)) as { output_format?: string }
    return eventOf(`image_generation.${role}`, { image_index: sketch.index, ...item })
  })
  const last = () => eventOf('image_generation.completed', { usage: usageOf(imageRequest) })
  const failure = errorOf({
    code: 'InternalServiceError',
    message: 'The service failed.',
    field: undefined,
    status: 500,
  })
  return order.events([...events, last, () => 'data: [DONE]\n\n'], record({ type: 'error', ...failure }, 'error'))
}
