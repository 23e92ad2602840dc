import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { either, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder, record } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize, seconds, shapeAt } from './shapes.ts'

/** MiniMax: image-01, whose refusals have status 200 and whose counters are strings; and H3 with its own formats. */
export const minimax: SimulatedUpstream = openVendor({
  name: 'minimax',
  words: {
    codes: {
      unauthorized: '1004',
      moderated: '1026',
      busy: '1002',
      broken: '1000',
      otherwise: '2013',
    },
    body: ({ code, message, status }) => ({
      base_resp: { status_code: Number(code), status_msg: message },
      error: { type: 'error', message, http_code: String(status) },
    }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: {
    'POST /v1/image_generation': first,
    'POST /v1/images/generations': request => third(request, 'image_generation'),
    'POST /v1/images/edits': request => third(request, 'image_edit'),
  },
})

const picture = image('link', 'data-url')
const ratios = {
  '1:1': [1024, 1024],
  '16:9': [1280, 720],
  '4:3': [1152, 864],
  '3:2': [1248, 832],
  '2:3': [832, 1248],
  '3:4': [864, 1152],
  '9:16': [720, 1280],
  '21:9': [1344, 576],
} as const
const ratioNames = Object.keys(ratios) as (keyof typeof ratios)[]

async function first(request: VendorRequest): Promise<Played> {
  const read = readJson(request, {
    model: must(oneOf('image-01', 'image-01-live')),
    prompt: must(text),
    aspect_ratio: oneOf(...ratioNames),
    width: whole(512, 2048, 8),
    height: whole(512, 2048, 8),
    n: whole(1, 9),
    seed: whole(0, 2_147_483_647),
    response_format: oneOf('url', 'base64'),
    prompt_optimizer: flag,
    aigc_watermark: flag,
    subject_reference: list(shape({ type: must(oneOf('character')), image_file: must(picture) }), 1),
  })
  const order = await openOrder(request, read.model, read.prompt)
  const { demands } = order
  const id = request.id
  if (demands.has('refused')) {
    return order.answer({ id, data: {}, base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } })
  }
  const pixels = sides(read) ?? sizeOf(ratios[read.aspect_ratio ?? '1:1'])
  const withheld = demands.has('moderated')
  const sketches = order
    .sketch(read.n ?? 1, { ...pixels, format: 'jpeg', price: '0.0035' })
    .map(one => ({ ...one, failed: one.failed || withheld }))
  for (const sketch of sketches) order.make(sketch)
  const made = sketches.filter(({ failed }) => !failed)
  const data =
    read.response_format === 'base64'
      ? { image_base64: await eachOf(made, sketch => sketch.base64()) }
      : { image_urls: made.map(sketch => sketch.link()) }
  const metadata = { success_count: String(made.length), failed_count: String(sketches.length - made.length) }
  return order.answer({ id, data, metadata, base_resp: { status_code: 0, status_msg: 'success' } })
}

function sides({ width, height }: { width?: number | undefined; height?: number | undefined }): Pixels | undefined {
  if (width === undefined && height === undefined) return undefined
  if (width === undefined || height === undefined) throw new Problem('missing_field', 'width and height go together')
  return { width, height }
}

function sizeOf([width, height]: readonly [number, number]): Pixels {
  return { width, height }
}

async function third(request: VendorRequest, verb: 'image_generation' | 'image_edit'): Promise<Played> {
  const read = readJson(request, {
    model: must(oneOf('MiniMax-H3-Image', 'MiniMax-H3-Image-Highspeed')),
    prompt: must(text),
    ...(verb === 'image_edit' && { image: must(either(picture, list(picture, 16))) }),
    size: text,
    area: oneOf('1K', '2K', '4K'),
    aspect_ratio: text,
    n: whole(1, 10),
    stream: flag,
    response_format: oneOf('url', 'b64_json'),
  })
  if (read.stream && read.response_format === 'b64_json') throw new Problem('invalid_value', 'A stream has links only.')
  const pixels = parseSize(read.size === undefined || read.size === 'auto' ? '' : read.size)
  if (read.size !== undefined && read.size !== 'auto' && !pixels)
    throw new Problem('invalid_value', 'size must be WxH or auto')
  const area = (1024 * Number((read.area ?? '1K').slice(0, -1))) ** 2
  const order = await openOrder(request, read.model, read.prompt, read.stream)
  if (order.demands.has('refused')) throw new Problem('moderated', 'The prompt is sensitive.', { status: 422 })
  const wanted = {
    ...(pixels ?? shapeAt(read.aspect_ratio ?? '1:1', area, 16)),
    format: 'png' as const,
    price: '0.016',
  }
  const sketches = order.sketch(read.n ?? 1, wanted).filter(({ failed }) => !failed)
  if (read.stream) return stream(request, order, sketches, verb)
  for (const sketch of sketches) order.make(sketch)
  const inline = read.response_format === 'b64_json'
  const data = await eachOf(sketches, async sketch => ({
    ...(inline ? { b64_json: await sketch.base64() } : { url: sketch.link() }),
    size: `${sketch.width}x${sketch.height}`,
  }))
  return order.answer({
    created: seconds(request.site.now()),
    data,
    usage: usageOf(order, data.length),
    request_id: request.id,
  })
}

function usageOf({ entry }: Order, made: number): object {
  const input = Math.ceil(entry.prompt.length / 4)
  const output = made * 4200
  return { input_tokens: input, output_tokens: output, total_tokens: input + output }
}

/** Sends each picture when it is done, the last one first: the events are in the order in which pictures are done. */
function stream(request: VendorRequest, order: Order, sketches: readonly Sketch[], verb: string): Played {
  const events = sketches.toReversed().map(sketch => () => {
    order.make(sketch)
    const size = `${sketch.width}x${sketch.height}`
    const type = `${verb}.partial_succeeded`
    return record({ type, image_index: sketch.index, url: sketch.link(), size }, type)
  })
  const type = `${verb}.completed`
  const last = () => record({ type, usage: usageOf(order, sketches.length), request_id: request.id }, type)
  const error = { type: 'server_error', message: 'The service failed.', http_code: '500' }
  const broken = record({ type: 'error', error, usage: usageOf(order, 0), request_id: request.id }, 'error')
  return order.events([() => ': keepalive\n\n', ...events, last], broken)
}
