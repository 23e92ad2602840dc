import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, file, must, oneOf, readFormOf, text, whole } from './fields.ts'
import type { Sent, Shape } from './fields.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Stability v2beta: only forms; the response is the picture itself, or JSON if the client accepts it. */
export const stability: SimulatedUpstream = openVendor({
  name: 'stability',
  words: {
    statuses: { moderated: 403, content_type: 400 },
    codes: {
      unauthorized: 'unauthorized',
      not_found: 'not_found',
      moderated: 'content_moderation',
      busy: 'rate_limit_exceeded',
      broken: 'internal_error',
      otherwise: 'bad_request',
    },
    body: ({ code, message }) => ({ id: 'simulated', name: code, errors: [message] }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: {
    'POST /v2beta/stable-image/{method}': perform,
    'GET /v2beta/results/{id}': collect,
  },
})

const ratios = '1:1 16:9 21:9 2:3 3:2 4:5 5:4 9:16 9:21'.split(' ')
const common = {
  // A form needs a part: the vendor's own examples send this one in requests without a file.
  none: anything,
  seed: whole(0, 4_294_967_294),
  output_format: oneOf('png', 'jpeg', 'webp'),
  negative_prompt: text,
}
const made = { ...common, prompt: must(text), aspect_ratio: oneOf(...ratios), style_preset: text }
const changed = { ...common, image: must(file), style_preset: text }
const loose = { image: file, strength: decimal(0, 1), mode: oneOf('text-to-image', 'image-to-image') }

type Method = { readonly fields: Shape; readonly price: string; readonly later?: boolean }

const methods: { readonly [method: string]: Method } = {
  'generate/core': { fields: made, price: '0.03' },
  'generate/ultra': { fields: { ...made, image: file, strength: decimal(0, 1) }, price: '0.08' },
  'generate/sd3': {
    fields: {
      ...made,
      ...loose,
      model: oneOf('sd3.5-large', 'sd3.5-large-turbo', 'sd3.5-medium'),
      cfg_scale: decimal(1, 10),
    },
    price: '0.065',
  },
  'edit/inpaint': { fields: { ...changed, prompt: must(text), mask: file, grow_mask: whole(0, 100) }, price: '0.05' },
  'edit/search-and-replace': { fields: { ...changed, prompt: must(text), search_prompt: must(text) }, price: '0.05' },
  'edit/remove-background': { fields: { image: must(file), output_format: oneOf('png', 'webp') }, price: '0.05' },
  'control/structure': { fields: { ...changed, prompt: must(text), control_strength: decimal(0, 1) }, price: '0.05' },
  'upscale/creative': {
    fields: { ...changed, prompt: must(text), creativity: decimal(0, 1) },
    price: '0.60',
    later: true,
  },
}

async function perform(request: VendorRequest): Promise<Played> {
  const name = request.params['method'] ?? ''
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (!method) throw new Problem('not_found', 'There is no such method.')
  const accept = acceptOf(request)
  const read = readFormOf(request, method.fields) as {
    prompt?: string
    image?: Sent
    aspect_ratio?: string
    output_format?: 'png' | 'jpeg' | 'webp'
    mode?: string
  }
  if (read.mode === 'image-to-image' && !read.image) throw new Problem('missing_field', 'image: is required')
  const order = await openOrder(request, name, read.prompt ?? '')
  if (order.demands.has('refused'))
    throw new Problem('moderated', 'Your request was flagged by our content moderation.')
  const pixels = pixelsOf(read.image?.pixels, read.aspect_ratio)
  const [sketch] = order.sketch(1, { ...pixels, format: read.output_format ?? 'png', price: method.price })
  if (!sketch) throw new Problem('broken', 'Nothing was made.')
  if (method.later) return order.answer({ id: order.open({ order, sketch }, [sketch]).id })
  // A filtered picture is returned blurred, and not charged.
  if (!order.demands.has('moderated')) order.make(sketch)
  return show(order, sketch, accept)
}

type Accept = 'bytes' | 'json'

function acceptOf({ headers }: VendorRequest): Accept {
  const accept = headers['accept'] ?? '*/*'
  if (accept.includes('application/json')) return 'json'
  if (/image\/\*|\*\/\*/.test(accept)) return 'bytes'
  throw new Problem('invalid_value', "accept: must be 'image/*' or 'application/json'")
}

/** About a megapixel in the requested ratio; without a ratio, the sides of the sent picture. */
function pixelsOf(sent: Pixels | undefined, ratio: string | undefined): Pixels {
  if (sent && ratio === undefined) return sent
  return ratio === undefined || ratio === '1:1' ? { width: 1024, height: 1024 } : shapeAt(ratio, 1024 * 1024, 64)
}

async function show({ demands }: Order, sketch: Sketch, accept: Accept): Promise<Played> {
  const reason = demands.has('moderated') ? 'CONTENT_FILTERED' : 'SUCCESS'
  if (accept === 'json') return answerJson(200, { image: await sketch.base64(), finish_reason: reason, seed: 42 })
  const headers = { 'content-type': sketch.mime, 'finish-reason': reason, seed: '42' }
  return { status: 200, headers, body: await sketch.bytes() }
}

async function collect(request: VendorRequest): Promise<Played> {
  const accept = acceptOf(request)
  const job = request.desk.jobs.find<{ order: Order; sketch: Sketch }>(request.params['id'])
  const state = job?.poll() ?? 'expired'
  if (state === 'expired' || !job) throw new Problem('not_found', 'id: no generation of this id was found')
  if (state === 'waiting' || state === 'running') return answerJson(202, { id: job.id, status: 'in-progress' })
  if (state === 'failed' || state === 'canceled') throw new Problem('broken', 'The generation failed.')
  return show(job.about.order, job.about.sketch, accept)
}
