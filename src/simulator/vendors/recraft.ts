import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, file, must, oneOf, readFormOf, readJson, text, whole } from './fields.ts'
import type { Sent, Shape } from './fields.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize, seconds } from './shapes.ts'

/**
 * Recraft: a list of pictures if there may be several, one object for an edited picture; the response reports credits.
 */
export const recraft: SimulatedUpstream = openVendor({
  name: 'recraft',
  words: {
    statuses: { content_type: 400 },
    codes: {
      unauthorized: 'unauthorized',
      not_found: 'not_found',
      moderated: 'content_policy_violation',
      busy: 'rate_limit_exceeded',
      broken: 'internal_error',
      otherwise: 'invalid_request_parameter',
    },
    body: ({ code, message }) => ({ code, message }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: {
    'POST /v1/images/generations': generate,
    'POST /v1/images/imageToImage': request => rework(request, { ...several, strength: must(decimal(0, 1)) }, false),
    'POST /v1/images/inpaint': request => rework(request, { ...several, mask: must(file) }, false),
    'POST /v1/images/replaceBackground': request => rework(request, several, false),
    'POST /v1/images/removeBackground': request => rework(request, alone, true),
    'POST /v1/images/crispUpscale': request => rework(request, alone, true),
    'POST /v1/images/creativeUpscale': request => rework(request, alone, true),
  },
})

const format = oneOf('url', 'b64_json')
const common = {
  n: whole(1, 6),
  style: text,
  substyle: text,
  style_id: text,
  response_format: format,
  negative_prompt: text,
}
const models = oneOf('recraftv2', 'recraftv3', 'recraftv4', 'recraftv4_pro')
const several = { ...common, image: must(file), prompt: must(text), model: models }
const alone = { image: must(file), response_format: format }

const small =
  '1024x1024 1365x1024 1024x1365 1536x1024 1024x1536 1820x1024 1024x1820 1024x2048 2048x1024 1434x1024 1024x1434 1024x1280 1280x1024 1024x1707 1707x1024'.split(
    ' ',
  )
const sizes: { readonly [model: string]: readonly string[] } = {
  recraftv2: small,
  recraftv3: small,
  recraftv4: '1024x1024 1152x896 896x1152 1216x832 832x1216 1344x768 768x1344 1280x832 832x1280'.split(' '),
  recraftv4_pro: '2048x2048 2304x1792 1792x2304 2432x1664 1664x2432 2688x1536 1536x2688'.split(' '),
}
/** In credits; a credit is a thousandth of a dollar. */
const credits: { readonly [model: string]: number } = {
  recraftv2: 22,
  recraftv3: 40,
  recraftv4: 40,
  recraftv4_pro: 250,
}
const reworkCredits = 4

async function generate(request: VendorRequest): Promise<Played> {
  const read = readJson(request, {
    ...common,
    prompt: must(text),
    model: models,
    size: text,
    controls: anything,
    text_layout: anything,
    user: text,
  })
  const model = read.model ?? 'recraftv3'
  const known = sizes[model] ?? small
  const size = read.size ?? known[0] ?? ''
  const pixels = parseSize(size)
  if (!pixels || !known.includes(size)) throw new Problem('invalid_value', `size must be one of ${known.join(', ')}`)
  return draw(request, { ...read, model }, pixels, credits[model] ?? 0, false)
}

function rework(request: VendorRequest, fields: Shape, single: boolean): Promise<Played> {
  const read = readFormOf(request, fields) as {
    image: Sent
    prompt?: string
    n?: number
    model?: string
    response_format?: string
  }
  const pixels = read.image.pixels ?? { width: 1024, height: 1024 }
  const model = read.model ?? 'recraftv3'
  return draw(request, { ...read, model }, pixels, single ? reworkCredits : (credits[model] ?? 0), single)
}

async function draw(
  request: VendorRequest,
  read: { model: string; prompt?: string; n?: number | undefined; response_format?: string | undefined },
  pixels: Pixels,
  each: number,
  single: boolean,
): Promise<Played> {
  const order = await openOrder(request, read.model, read.prompt ?? '')
  if (order.demands.has('refused')) throw new Problem('moderated', 'The prompt violates the content policy.')
  const price = (each / 1000).toFixed(3)
  const sketches = order
    .draw(single ? 1 : (read.n ?? 1), { ...pixels, format: 'webp', price })
    .filter(one => !one.failed)
  const data = await eachOf(sketches, sketch => itemOf(order, sketch, read.response_format === 'b64_json'))
  const response = { created: seconds(request.site.now()), credits: each * data.length }
  return order.answer(single ? { ...response, image: data[0] } : { ...response, data })
}

async function itemOf({ entry }: Order, sketch: Sketch, inline: boolean): Promise<object> {
  const id = { image_id: `${entry.request.slice(0, -2)}0${sketch.index}` }
  return inline ? { ...id, b64_json: await sketch.base64() } : { ...id, url: sketch.link() }
}
