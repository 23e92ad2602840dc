import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import { text as textUpstream } from '../text/upstream.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Sent } from './fields.ts'
import { times } from './ledger.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Grok Imagine: edits are JSON too, resolutions are words, the response reports the cost. */
const images: SimulatedUpstream = openVendor({
  name: 'xai',
  words: {
    statuses: { unauthorized: 401 },
    codes: {
      unauthorized: 'The caller does not have permission to execute the specified operation',
      not_found: 'Some requested entity was not found',
      busy: 'Some resource has been exhausted',
      broken: 'The service is currently unavailable',
      otherwise: 'Client specified an invalid argument',
    },
    body: ({ code, message }) => ({ code, error: message }),
  },
  credential: bearer,
  routes: {
    'POST /v1/images/generations': request => draw(request, readJson(request, fields), []),
    'POST /v1/images/edits': edit,
    'GET /v1/image-generation-models/{model}': describe,
  },
})

/** xAI: grok-imagine and text. */
export const xai: SimulatedUpstream = { ...textUpstream, ...images }

const ratios = '1:1 3:4 4:3 9:16 16:9 2:3 3:2 1:2 2:1 9:19.5 19.5:9 9:20 20:9 auto'.split(' ')
const fields = {
  model: must(text),
  prompt: must(text),
  n: whole(1, 10),
  aspect_ratio: oneOf(...ratios),
  resolution: oneOf('1k', '1.5k', '2k'),
  quality: oneOf('low', 'medium', 'high'),
  response_format: oneOf('url', 'b64_json'),
  user: text,
}
const picture = shape({ url: must(image('link', 'data-url')), type: oneOf('image_url') })

type Read = {
  readonly model: string
  readonly prompt: string
  readonly n?: number | undefined
  readonly aspect_ratio?: string | undefined
  readonly resolution?: '1k' | '1.5k' | '2k' | undefined
  readonly quality?: 'low' | 'medium' | 'high' | undefined
  readonly response_format?: 'url' | 'b64_json' | undefined
}

/** Dollars by quality and resolution, or one price for all. */
const prices: { readonly [model: string]: { readonly [cell: string]: string } | string } = {
  'grok-imagine-image': '0.02',
  'grok-imagine-image-quality': '0.05',
  'grok-imagine-image-2.0': {
    'low 1k': '0.04',
    'low 1.5k': '0.05',
    'low 2k': '0.06',
    'medium 1k': '0.06',
    'medium 1.5k': '0.07',
    'medium 2k': '0.08',
    'high 1k': '0.08',
    'high 1.5k': '0.09',
    'high 2k': '0.10',
  },
}
const inputPrice = '0.01'

function edit(request: VendorRequest): Promise<Played> {
  const {
    image: one,
    images = [],
    ...read
  } = readJson(request, { ...fields, image: picture, images: list(picture, 5) })
  const sent = one ? [one.url, ...images.map(({ url }) => url)] : images.map(({ url }) => url)
  if (sent.length === 0) throw new Problem('missing_field', 'Expected image or images.', { field: 'image' })
  if (one && images.length > 0) throw new Problem('invalid_value', 'Send either image or images.', { field: 'image' })
  return draw(request, read, sent)
}

function priceOf({ model, quality = 'medium', resolution = '1k' }: Read): string {
  const price = Object.hasOwn(prices, model) ? prices[model] : undefined
  const found = typeof price === 'object' ? price[`${quality} ${resolution}`] : price
  if (found === undefined) throw new Problem('not_found', `The model ${model} does not exist.`)
  if (typeof price === 'string' && resolution === '1.5k') {
    throw new Problem('invalid_value', 'resolution must be 1k or 2k.', { field: 'resolution' })
  }
  return found
}

function pixelsOf({ aspect_ratio: ratio = 'auto', resolution = '1k' }: Read, [first]: readonly Sent[]): Pixels {
  const like = first?.pixels
  const shown = ratio === 'auto' ? (like ? `${like.width}:${like.height}` : '3:4') : ratio
  return shapeAt(shown, (1024 * Number(resolution.slice(0, -1))) ** 2, 16)
}

async function draw(request: VendorRequest, read: Read, sent: readonly Sent[]): Promise<Played> {
  const price = priceOf(read)
  const order = await openOrder(request, read.model, read.prompt)
  const { demands, entry } = order
  const withheld = demands.has('refused') || demands.has('moderated')
  const sketches = order
    .sketch(read.n ?? 1, { ...pixelsOf(read, sent), format: 'jpeg', price })
    .map(sketch => ({ ...sketch, failed: sketch.failed || withheld }))
  for (const sketch of sketches) order.make(sketch)
  // Each input picture is charged once per request, even if no picture is made.
  entry.charge(times(inputPrice, sent.length))
  const inline = read.response_format === 'b64_json'
  const data = await eachOf(sketches, async sketch => ({
    [inline ? 'b64_json' : 'url']: sketch.failed ? '' : inline ? await sketch.base64() : sketch.link(),
    revised_prompt: demands.text,
    respect_moderation: !sketch.failed,
  }))
  return order.answer({ data, usage: { cost_in_usd_ticks: Number(entry.ticks) } })
}

function describe({ params }: VendorRequest): Played {
  const id = params['model'] ?? ''
  const price = Object.hasOwn(prices, id) ? prices[id] : undefined
  if (price === undefined) throw new Problem('not_found', `The model ${id} does not exist.`)
  const cells = typeof price === 'string' ? { 'any any': price } : price
  const pricing = Object.entries(cells).map(([cell, amount]) => {
    const [quality, resolution] = cell.split(' ')
    return { quality, resolution, price_per_image: Math.round(Number(amount) * 1e10) }
  })
  return answerJson(200, { id, object: 'model', pricing })
}
