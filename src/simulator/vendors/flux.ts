import type { Pixels } from '../pictures/measure.ts'
import { answerJson } from '../answer.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { decimal, flag, image, must, oneOf, readJson, text, whole } from './fields.ts'
import type { Read, Sent } from './fields.ts'
import { sum, times } from './ledger.ts'
import type { JobState } from './jobs.ts'
import { openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { megapixels, shapeAt } from './shapes.ts'

/** Black Forest Labs: every request is a job; its response has the address for polls. */
export const flux: SimulatedUpstream = openVendor({
  name: 'flux',
  words: {
    statuses: { unauthorized: 403, unknown_field: 422, missing_field: 422, invalid_value: 422, content_type: 422 },
    codes: { missing_field: 'missing', unknown_field: 'extra_forbidden', otherwise: 'value_error' },
    body: ({ kind, status, code, message, field }) =>
      status === 422
        ? { detail: [{ loc: ['body', field ?? ''], msg: message, type: code }] }
        : { detail: kind === 'unauthorized' ? 'Not authenticated' : message },
  },
  credential: ({ headers }) => headers['x-key'] !== undefined,
  linkMinutes: 10,
  routes: {
    'POST /v1/{model}': submit,
    'GET /v1/get_result': poll,
  },
})

const common = {
  prompt: must(text),
  aspect_ratio: text,
  seed: whole(0, 4_294_967_295),
  output_format: oneOf('jpeg', 'png'),
  safety_tolerance: whole(0, 6),
  webhook_url: text,
  webhook_secret: text,
}
const picture = image('base64', 'data-url', 'link')
const inputs = Object.fromEntries(
  ['input_image', ...Array.from({ length: 9 }, (_, i) => `input_image_${i + 2}`)].map(name => [name, picture]),
)
const fewInputs = Object.fromEntries(Object.entries(inputs).slice(0, 4))
const sized = (min: number, max: number, step: number) => ({
  width: whole(min, max, step),
  height: whole(min, max, step),
})
const tuned = { steps: whole(1, 50), guidance: decimal(1.5, 100), prompt_upsampling: flag }

type Model = {
  readonly fields: typeof common & {
    readonly [name: string]: typeof picture | ReturnType<typeof whole> | typeof flag | typeof text
  }
  /** The pixels of requests without width and height. */
  readonly otherwise: Pixels
  /**
   * Dollars of the picture; with `more`, of its first megapixel, and `more` for each further one, including input
   * pictures.
   */
  readonly price: string
  readonly more?: string
}

const second = { otherwise: { width: 1024, height: 768 }, fields: { ...common, ...sized(64, 4096, 16), ...inputs } }
const kontext = {
  otherwise: { width: 1024, height: 1024 },
  fields: { ...common, prompt_upsampling: flag, ...fewInputs },
}
const models: { readonly [name: string]: Model } = {
  'flux-2-pro': { ...second, price: '0.03', more: '0.015' },
  'flux-2-max': { ...second, price: '0.07', more: '0.03' },
  'flux-2-flex': { ...second, fields: { ...second.fields, ...tuned }, price: '0.05', more: '0.05' },
  'flux-2-klein-4b': { ...second, price: '0.014', more: '0.001' },
  'flux-2-klein-9b': { ...second, price: '0.015', more: '0.002' },
  'flux-kontext-pro': { ...kontext, price: '0.04' },
  'flux-kontext-max': { ...kontext, price: '0.08' },
  'flux-pro-1.1': {
    otherwise: { width: 1024, height: 768 },
    fields: { ...common, ...sized(256, 1440, 32), image_prompt: picture, prompt_upsampling: flag },
    price: '0.04',
  },
  'flux-pro-1.1-ultra': {
    otherwise: { width: 2752, height: 1536 },
    fields: { ...common, raw: flag, image_prompt: picture, image_prompt_strength: decimal(0, 1) },
    price: '0.06',
  },
  'flux-dev': {
    otherwise: { width: 1024, height: 768 },
    fields: { ...common, ...sized(256, 1440, 32), ...tuned, image_prompt: picture },
    price: '0.025',
  },
  'flux-pro-1.0-fill': {
    otherwise: { width: 1024, height: 1024 },
    fields: { ...common, ...tuned, image: must(picture), mask: picture },
    price: '0.05',
  },
}

async function submit(request: VendorRequest): Promise<Played> {
  const name = request.params['model'] ?? ''
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (!model) throw new Problem('not_found', 'Not Found')
  const read = readJson(request, model.fields)
  const order = await openOrder(request, name, read.prompt)
  const sent = Object.values(read).filter(isSent)
  const pixels = pixelsOf(model, read, sent)
  const inputMp = sent.reduce((total, one) => total + Math.ceil(megapixels(one.pixels ?? model.otherwise)), 0)
  const outputMp = Math.ceil(megapixels(pixels))
  const price = model.more === undefined ? model.price : sum(model.price, times(model.more, outputMp + inputMp - 1))
  const [sketch] = order.sketch(1, { ...pixels, format: read.output_format ?? 'jpeg', price })
  const job = order.open({ sketch }, sketch ? [sketch] : [])
  return order.answer({
    id: job.id,
    polling_url: `${order.pollUrl}/v1/get_result?id=${job.id}`,
    // In cents.
    cost: Number(times(price, 100)),
    input_mp: inputMp,
    output_mp: outputMp,
  })
}

function isSent(value: unknown): value is Sent {
  return typeof value === 'object' && value !== null && 'pixels' in value
}

function pixelsOf({ otherwise }: Model, read: Read<Model['fields']>, [first]: readonly Sent[]): Pixels {
  const { width, height, aspect_ratio: ratio } = read as { width?: number; height?: number; aspect_ratio?: string }
  if (ratio !== undefined && !/^\d{1,2}:\d{1,2}$/.test(ratio)) {
    throw new Problem('invalid_value', 'aspect_ratio must be of the form W:H.', { field: 'aspect_ratio' })
  }
  if (ratio !== undefined && width === undefined) return shapeAt(ratio, otherwise.width * otherwise.height, 16)
  const pixels = { width: width ?? otherwise.width, height: height ?? otherwise.height }
  if (megapixels(pixels) > 4.2) throw new Problem('invalid_value', 'At most 4 megapixels.', { field: 'width' })
  const given = first?.pixels
  return width === undefined && height === undefined && given
    ? shapeAt(`${given.width}:${given.height}`, otherwise.width * otherwise.height, 16)
    : pixels
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'Pending',
  running: 'Pending',
  done: 'Ready',
  failed: 'Error',
  refused: 'Request Moderated',
  moderated: 'Content Moderated',
  expired: 'Task not found',
  canceled: 'Error',
}

async function poll({ desk, query }: VendorRequest): Promise<Played> {
  const id = query.get('id')
  if (id === null) throw new Problem('missing_field', 'Field required', { field: 'id' })
  const job = desk.jobs.find<{ sketch: Sketch | undefined }>(id)
  if (!job) return answerJson(200, { id, status: 'Task not found', result: null, progress: null, details: null })
  const state = job.poll()
  const sketch = state === 'done' ? job.about.sketch : undefined
  const { text: prompt } = job.demands
  const result = sketch && { sample: sketch.link(), prompt, seed: 42, start_time: 0, end_time: 1, duration: 1 }
  const details = state === 'moderated' || state === 'refused' ? { 'Moderation Reasons': ['Safety Filter'] } : null
  return answerJson(200, { id, status: statuses[state], result: result ?? null, progress: null, details })
}
