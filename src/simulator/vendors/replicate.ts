import { setTimeout as wait } from 'node:timers/promises'
import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import type { PictureFormat } from '../pictures/picture.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Shape } from './fields.ts'
import type { Job, JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Replicate: predictions; clients wait with `Prefer: wait`. A request that takes too long becomes a job. */
export const replicate: SimulatedUpstream = openVendor({
  name: 'replicate',
  words: {
    statuses: { unknown_field: 422, missing_field: 422, invalid_value: 422, content_type: 422 },
    codes: {
      unauthorized: 'Unauthenticated',
      not_found: 'Not found',
      busy: 'Too many requests',
      otherwise: 'Input validation failed',
    },
    body: ({ status, code, message, field }) => ({
      title: code,
      detail: message,
      status,
      ...(status === 422 && { invalid_fields: [{ field: field ?? '', type: 'invalid', description: message }] }),
    }),
  },
  credential: call => bearer(call) || bearer(call, 'Token'),
  routes: {
    'POST /v1/models/{model}/predictions': request => create(request, request.params['model'] ?? ''),
    'POST /v1/predictions': request => create(request, undefined),
    'POST /v1/predictions/{id}/cancel': cancel,
    'GET /v1/predictions/{id}': poll,
  },
})

const picture = image('link', 'data-url')
const common = {
  prompt: must(text),
  seed: whole(0, 2_147_483_647),
  aspect_ratio: text,
  output_format: oneOf('webp', 'jpg', 'png'),
  output_quality: whole(0, 100),
}
type Model = { readonly fields: Shape; readonly price: string /** One link and no list. */; readonly single?: boolean }
const diffusion = {
  ...common,
  num_outputs: whole(1, 4),
  num_inference_steps: whole(1, 50),
  megapixels: oneOf('0.25', '1'),
  go_fast: flag,
  disable_safety_checker: flag,
}
const models: { readonly [name: string]: Model } = {
  'black-forest-labs/flux-schnell': { fields: diffusion, price: '0.003' },
  'black-forest-labs/flux-dev': {
    fields: { ...diffusion, guidance: decimal(0, 10), image: picture, prompt_strength: decimal(0, 1) },
    price: '0.025',
  },
  'black-forest-labs/flux-1.1-pro': {
    fields: {
      ...common,
      width: whole(256, 1440, 32),
      height: whole(256, 1440, 32),
      image_prompt: picture,
      safety_tolerance: whole(1, 6),
      prompt_upsampling: flag,
    },
    price: '0.04',
    single: true,
  },
  'black-forest-labs/flux-kontext-pro': { fields: { ...common, input_image: picture }, price: '0.04', single: true },
  'google/nano-banana': { fields: { ...common, image_input: list(picture, 10) }, price: '0.039', single: true },
}

type Prediction = {
  readonly model: string
  readonly order: Order
  readonly input: unknown
  readonly sketches: readonly Sketch[]
  readonly single: boolean
}

async function create(request: VendorRequest, owned: string | undefined): Promise<Played> {
  const waitS = waitOf(request)
  const head = readJson(request, {
    input: must((value): object | undefined => (typeof value === 'object' && value !== null ? value : undefined)),
    version: owned === undefined ? must(text) : anything,
    webhook: text,
    webhook_events_filter: list(text, 4),
    stream: flag,
  })
  // A version of a community model: the simulator treats every version as flux-schnell.
  const name = owned ?? 'black-forest-labs/flux-schnell'
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (!model) throw new Problem('not_found', 'The requested resource could not be found.')
  const input = must(shape(model.fields))(head.input, 'input') as {
    prompt: string
    num_outputs?: number
    output_format?: 'webp' | 'jpg' | 'png'
  } & Sides
  const order = await openOrder(request, name, input.prompt)
  const format: PictureFormat = input.output_format === 'jpg' ? 'jpeg' : (input.output_format ?? 'webp')
  const wanted = { ...pixelsOf(input), format, price: model.price }
  const sketches = order.sketch(input.num_outputs ?? 1, wanted)
  const about = { model: name, order, input: head.input, sketches, single: model.single ?? false }
  const job = order.open<Prediction>(about, sketches, request.id.replaceAll('-', '').slice(0, 26))
  if (waitS === undefined || order.demands.has('late'))
    return order.answer(predictionOf(request, job, job.state()), 201)
  // The client waits, so the simulator polls for it until the job is over.
  await wait(1, undefined, { ref: false })
  const demanded = order.demands.numbers('polls')?.[0] ?? 1
  for (let polls = 0; polls < Math.min(demanded, 60); polls++) job.poll()
  return order.answer(predictionOf(request, job, job.poll()), 201)
}

/** The seconds in `Prefer: wait=N`; 60 for `wait` alone; undefined if the client does not wait. */
function waitOf({ headers }: VendorRequest): number | undefined {
  const prefer = headers['prefer']
  if (prefer === undefined) return undefined
  const found = /^wait(?:=(\d{1,3}))?$/.exec(prefer)
  const seconds = Number(found?.[1] ?? 60)
  if (!found || seconds < 1 || seconds > 60) throw new Problem('invalid_value', 'Prefer: wait must be 1 to 60 seconds.')
  return seconds
}

type Sides = {
  readonly aspect_ratio?: string
  readonly megapixels?: string
  readonly width?: number
  readonly height?: number
}

function pixelsOf({ aspect_ratio: ratio = '1:1', megapixels = '1', width, height }: Sides): Pixels {
  if (width !== undefined && height !== undefined) return { width, height }
  if (!/^\d{1,2}:\d{1,2}$/.test(ratio)) {
    throw new Problem('invalid_value', 'aspect_ratio must be of the form W:H', { field: 'input.aspect_ratio' })
  }
  return shapeAt(ratio, 1024 * 1024 * Number(megapixels), 16)
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'starting',
  running: 'processing',
  done: 'succeeded',
  failed: 'failed',
  refused: 'failed',
  moderated: 'failed',
  expired: 'aborted',
  canceled: 'canceled',
}
const reasons: { readonly [state in JobState]?: string } = {
  failed: 'Prediction failed: out of memory.',
  refused: 'The input was flagged as sensitive. Please try again with different inputs. (E005)',
  moderated: 'NSFW content detected. Try running it again, or try a different prompt.',
}

function predictionOf({ desk, site }: VendorRequest, { id, about }: Job<Prediction>, state: JobState): object {
  const { model, input, sketches, single, order } = about
  const links = state === 'done' ? sketches.filter(({ failed }) => !failed).map(sketch => sketch.link()) : undefined
  const at = `${order.pollUrl}/v1/predictions/${id}`
  const over = state !== 'waiting' && state !== 'running'
  const now = new Date(site.now()).toISOString()
  return {
    id,
    model,
    version: 'hidden',
    input,
    logs: '',
    output: (single ? links?.[0] : links) ?? null,
    data_removed: false,
    error: reasons[state] ?? null,
    source: 'api',
    status: statuses[state],
    created_at: now,
    ...(over && { completed_at: now, metrics: { predict_time: 0.5 } }),
    urls: { get: at, cancel: `${at}/cancel`, web: `${desk.url}/p/${id}` },
  }
}

function find({ desk, params }: VendorRequest): Job<Prediction> {
  const job = desk.jobs.find<Prediction>(params['id'])
  if (!job) throw new Problem('not_found', 'The requested resource could not be found.')
  return job
}

function poll(request: VendorRequest): Played {
  const job = find(request)
  const state = job.poll()
  if (state === 'expired') throw new Problem('not_found', 'The requested resource could not be found.')
  return answerJson(200, predictionOf(request, job, state))
}

function cancel(request: VendorRequest): Played {
  const job = find(request)
  job.cancel()
  return answerJson(200, predictionOf(request, job, job.state()))
}
