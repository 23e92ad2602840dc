import type { Pixels } from '../pictures/measure.ts'
import type { PictureFormat } from '../pictures/picture.ts'
import type { Played } from '../upstream.ts'
import { either, file, flag, image, list, must, oneOf, readFormOf, readJson, shape, text, whole } from './fields.ts'
import type { Read } from './fields.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder, record } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import type { Worded } from './problem.ts'
import { parseSize, seconds } from './shapes.ts'

export function errorOf({ status, code, message, field }: Worded): { readonly error: object } {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: field ?? null, code } }
}

const qualities = ['low', 'medium', 'high', 'auto', 'xhigh', 'max'] as const
const common = {
  prompt: must(text),
  n: whole(1, 10),
  size: text,
  quality: oneOf(...qualities),
  background: oneOf('auto', 'opaque', 'transparent'),
  output_format: oneOf('png', 'jpeg', 'webp'),
  output_compression: whole(0, 100),
  partial_images: whole(0, 3),
  stream: flag,
  user: text,
}
const generation = {
  ...common,
  model: text,
  moderation: oneOf('auto', 'low'),
  complexity: oneOf('low', 'medium', 'high'),
}
const edit = { ...common, model: text, input_fidelity: oneOf('low', 'high'), moderation: oneOf('auto', 'low') }
const reference = either(shape({ image_url: must(image('link', 'data-url')) }), shape({ file_id: must(text) }))
const jsonEdit = { ...edit, images: must(list(reference, 16)), mask: reference }
const formEdit = { ...edit, image: file, 'image[]': list(file, 16), mask: file }

/** Dollars of a square picture and of any other, by quality. */
const prices: { readonly [quality: string]: readonly [square: string, long: string] } = {
  low: ['0.006', '0.005'],
  medium: ['0.053', '0.041'],
  high: ['0.211', '0.165'],
  xhigh: ['0.3', '0.24'],
  max: ['0.4', '0.32'],
}
const tokens: { readonly [quality: string]: number } = { low: 272, medium: 1056, high: 4160, xhigh: 6000, max: 8000 }

type ReadRequest = Read<Pick<typeof generation, keyof typeof common | 'model'>>

/** @param deployment the name of the model; without it the body must have one */
export function drawGeneration(request: VendorRequest, deployment: string | undefined): Promise<Played> {
  return draw(request, readJson(request, generation), deployment, 'image_generation', 0)
}

/** Reads a form, or JSON with links or data: URLs of pictures. */
export async function drawEdit(request: VendorRequest, deployment: string | undefined): Promise<Played> {
  if ((request.headers['content-type'] ?? '').startsWith('application/json')) {
    const { images, ...read } = readJson(request, jsonEdit)
    return draw(request, read, deployment, 'image_edit', images.length)
  }
  const read = readFormOf(request, formEdit)
  const count = (read.image ? 1 : 0) + (read['image[]']?.length ?? 0)
  if (count === 0) throw new Problem('missing_field', "Missing required parameter: 'image'.", { field: 'image' })
  return draw(request, read, deployment, 'image_edit', count)
}

type Verb = 'image_generation' | 'image_edit'

async function draw(
  request: VendorRequest,
  read: ReadRequest,
  deployment: string | undefined,
  verb: Verb,
  references: number,
): Promise<Played> {
  const model = deployment ?? read.model
  if (model === undefined)
    throw new Problem('missing_field', "Missing required parameter: 'model'.", { field: 'model' })
  const stream = read.stream ?? false
  if (!stream && (read.partial_images ?? 0) > 0) {
    throw new Problem('invalid_value', 'partial_images needs stream.', { field: 'partial_images' })
  }
  const pixels = pixelsOf(model, read.size ?? 'auto')
  const quality = read.quality === undefined || read.quality === 'auto' ? 'medium' : read.quality
  const format = read.output_format ?? 'png'
  const price = prices[quality]?.[pixels.width === pixels.height ? 0 : 1] ?? '0'
  const order = await openOrder(request, model, read.prompt, stream)
  if (order.demands.has('refused') || order.demands.has('moderated')) {
    throw new Problem('moderated', 'Your request was rejected by the safety system.')
  }
  const sketches = order.sketch(read.n ?? 1, { ...pixels, format, price }).filter(({ failed }) => !failed)
  const [{ width, height } = pixels] = sketches
  const facts = { background: 'opaque', output_format: format, quality, size: `${width}x${height}` }
  const usage = (made: number) => usageOf(order, references, made * (tokens[quality] ?? 0))
  if (stream)
    return streamed(request, order, sketches, { verb, facts, usage, partials: read.partial_images ?? 0, format })
  for (const sketch of sketches) order.make(sketch)
  const data = await eachOf(sketches, async sketch => ({ b64_json: await sketch.base64() }))
  return order.answer({ created: seconds(request.site.now()), ...facts, data, usage: usage(data.length) })
}

const older = ['1024x1024', '1536x1024', '1024x1536']

function pixelsOf(model: string, size: string): Pixels {
  const requested = size === 'auto' ? '1024x1536' : size
  const pixels = parseSize(requested)
  const { width, height } = pixels ?? { width: 0, height: 0 }
  const free = !/^(?:gpt-image-1|chatgpt-image)/.test(model)
  const fits =
    width % 16 === 0 &&
    height % 16 === 0 &&
    width * height <= 3840 * 2160 &&
    Math.max(width, height) <= 3 * Math.min(width, height)
  if (pixels && (older.includes(requested) || (free && fits && width > 0))) return pixels
  const expected = free ? 'WxH of multiples of 16, up to 3840x2160, and auto' : `${older.join(', ')} and auto`
  throw new Problem('invalid_value', `Invalid size '${size}'. Supported are ${expected}.`, { field: 'size' })
}

function usageOf({ entry }: Order, references: number, output: number): object {
  const words = Math.ceil(entry.prompt.length / 4)
  const pictures = references * 323
  return {
    input_tokens: words + pictures,
    input_tokens_details: { text_tokens: words, image_tokens: pictures },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: words + pictures + output,
  }
}

type Streamed = {
  readonly verb: Verb
  readonly facts: object
  readonly usage: (made: number) => object
  readonly partials: number
  readonly format: PictureFormat
}

function streamed(
  request: VendorRequest,
  order: Order,
  sketches: readonly Sketch[],
  { verb, facts, usage, partials }: Streamed,
): Played {
  const eventOf = async (type: string, sketch: Sketch, more: object) =>
    record({ type, b64_json: await sketch.base64(), created_at: seconds(request.site.now()), ...facts, ...more }, type)
  const events = sketches.flatMap(sketch => [
    ...Array.from({ length: partials }, (_, i) => async () => {
      const partial = order.extra(sketch, sketch.index * partials + i)
      return eventOf(`${verb}.partial_image`, partial, { partial_image_index: i })
    }),
    async () => {
      order.make(sketch)
      // The usage of this picture alone, without the details of its output.
      const { output_tokens_details: _, ...reported } = usage(1) as { output_tokens_details: unknown }
      return eventOf(`${verb}.completed`, sketch, { usage: reported })
    },
  ])
  const error = { type: 'server_error', code: 'server_error', message: 'The server had an error.', param: null }
  return order.events(events, record({ type: 'error', error }, 'error'))
}
