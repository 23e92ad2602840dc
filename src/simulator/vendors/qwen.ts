import { answerJson } from '../answer.ts'
import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Sent } from './fields.ts'
import type { JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize, shapeAt } from './shapes.ts'

const services = 'POST /api/v1/services/aigc'

/** DashScope: Qwen-Image and Wan, synchronous with messages, or as tasks. */
export const qwen: SimulatedUpstream = openVendor({
  name: 'qwen',
  words: {
    codes: {
      unauthorized: 'InvalidApiKey',
      not_found: 'ModelNotFound',
      moderated: 'DataInspectionFailed',
      busy: 'Throttling.RateQuota',
      broken: 'InternalError',
      otherwise: 'InvalidParameter',
    },
    body: ({ code, message }) => ({ code, message, request_id: 'simulated' }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: {
    [`${services}/multimodal-generation/generation`]: answerAtOnce,
    [`${services}/text2image/image-synthesis`]: request => submit(request, promptOf(request, synthesisInput)),
    [`${services}/image2image/image-synthesis`]: request => submit(request, promptOf(request, editInput)),
    [`${services}/image-generation/generation`]: request => submit(request, messagesOf(request)),
    'GET /api/v1/tasks/{id}': poll,
    'POST /api/v1/tasks/{id}/cancel': cancel,
  },
})

const picture = image('link', 'data-url')
const parameters = shape({
  size: text,
  n: whole(1, 12),
  negative_prompt: text,
  seed: whole(0, 2_147_483_647),
  watermark: flag,
  prompt_extend: flag,
  thinking_mode: flag,
  enable_sequential: flag,
})
const piece = shape({ text, image: picture })
const message = shape({ role: oneOf('user'), content: must(list(piece, 15)) })
const messages = { model: must(text), input: must(shape({ messages: must(list(message, 1)) })), parameters }
const synthesisInput = shape({ prompt: must(text), negative_prompt: text, ref_img: picture })
const editInput = shape({
  prompt: must(text),
  images: list(picture, 4),
  function: text,
  base_image_url: picture,
  mask_image_url: picture,
})

type Read = {
  readonly model: string
  readonly prompt: string
  readonly sent: readonly Sent[]
  readonly parameters: { readonly size?: string | undefined; readonly n?: number | undefined } | undefined
}

function messagesOf(request: VendorRequest): Read {
  const { model, input, parameters: rest } = readJson(request, messages)
  const content = input.messages[0]?.content ?? []
  const prompt = content.map(one => one.text ?? '').join('')
  if (prompt === '') throw new Problem('missing_field', 'The content of the message has no text.')
  return { model, prompt, sent: content.flatMap(one => one.image ?? []), parameters: rest }
}

function promptOf(request: VendorRequest, input: typeof synthesisInput | typeof editInput): Read {
  const read = readJson(request, {
    model: must(text),
    input: must<{ prompt: string; images?: readonly Sent[] | undefined }>(input),
    parameters,
    extra: anything,
  })
  return { model: read.model, prompt: read.input.prompt, sent: read.input.images ?? [], parameters: read.parameters }
}

type Kind = {
  /** The number of pictures by default and at most. */
  readonly count: readonly [otherwise: number, most: number]
  /** All valid sizes; without them, any size or `1K`, `2K`, `4K`. */
  readonly sizes?: readonly string[]
  readonly price: string
  readonly usage: (pixels: Pixels, made: number, sent: number) => object
}

const old = ['1664*928', '1472*1104', '1328*1328', '1104*1472', '928*1664']
const plainUsage = ({ width, height }: Pixels, made: number) => ({ width, height, image_count: made })
const wanUsage = ({ width, height }: Pixels, made: number) => ({ image_count: made, size: `${width}*${height}` })
const newUsage = ({ width, height }: Pixels, made: number, sent: number) => ({
  output_width: width,
  output_height: height,
  output_image_count: made,
  output_image_type: width * height > 1024 * 1024 ? 'qima_output_2k' : 'qima_output_1k',
  input_image_count: sent,
})
/** The first entry whose name begins the model's name applies. */
const kinds: readonly (readonly [name: string, kind: Kind])[] = [
  ['qwen-image-3.0', { count: [1, 6], price: '0.03', usage: newUsage }],
  ['qwen-image-2.0-pro', { count: [1, 6], price: '0.075', usage: newUsage }],
  ['qwen-image-2.0', { count: [1, 6], price: '0.035', usage: newUsage }],
  ['qwen-image-edit', { count: [1, 6], price: '0.045', usage: plainUsage }],
  ['qwen-image', { count: [1, 1], sizes: old, price: '0.035', usage: plainUsage }],
  ['wan', { count: [4, 12], price: '0.03', usage: wanUsage }],
  ['z-image', { count: [1, 1], price: '0.015', usage: plainUsage }],
]

type ReadRequest = {
  readonly order: Order
  readonly sketches: readonly Sketch[]
  readonly usage: (made: number) => object
}

async function readRequest(request: VendorRequest, { model, prompt, sent, parameters }: Read): Promise<ReadRequest> {
  const kind = kinds.find(([name]) => model.startsWith(name))?.[1]
  if (!kind) throw new Problem('not_found', 'Model not exist.')
  const [otherwise, most] = kind.count
  const count = parameters?.n ?? otherwise
  if (count > most) throw new Problem('invalid_value', `num_images_per_prompt must be 1 to ${most}`)
  const pixels = pixelsOf(kind, parameters?.size, sent)
  const order = await openOrder(request, model, prompt)
  const sketches = order.sketch(count, { ...pixels, format: 'png', price: kind.price })
  return { order, sketches, usage: made => kind.usage(sketches[0] ?? pixels, made, sent.length) }
}

function pixelsOf({ sizes }: Kind, size: string | undefined, [first]: readonly Sent[]): Pixels {
  const requested = size ?? sizes?.[0]
  const like = first?.pixels
  // Without a size the vendor makes 2K, which is expensive, in the shape of the edited picture.
  if (requested === undefined)
    return like ? shapeAt(`${like.width}:${like.height}`, 2048 ** 2, 16) : { width: 2048, height: 2048 }
  const tier = /^([124])K$/.exec(requested)?.[1]
  if (tier !== undefined && !sizes) return { width: 1024 * Number(tier), height: 1024 * Number(tier) }
  const pixels = parseSize(requested, '*')
  if (pixels && (sizes?.includes(requested) ?? (pixels.width >= 256 && pixels.height >= 256))) return pixels
  throw new Problem(
    'invalid_value',
    `The size does not match the allowed size ${sizes?.join(',') ?? 'W*H'}: ${requested}`,
  )
}

function wantJob(request: VendorRequest, wanted: boolean): void {
  const isAsync = request.headers['x-dashscope-async'] === 'enable'
  if (isAsync === wanted) return
  const which = isAsync ? 'asynchronous' : 'synchronous'
  throw new Problem('invalid_value', `current user api does not support ${which} calls.`, { status: 403 })
}

const inspected = { code: 'DataInspectionFailed', message: 'Input text data may contain inappropriate content.' }

async function answerAtOnce(request: VendorRequest): Promise<Played> {
  wantJob(request, false)
  const { order, sketches, usage } = await readRequest(request, messagesOf(request))
  if (order.demands.has('refused')) return order.answer({ ...inspected, request_id: request.id })
  if (order.demands.has('moderated')) throw new Problem('moderated', 'Output data may contain inappropriate content.')
  for (const sketch of sketches) order.make(sketch)
  const images = sketches.filter(({ failed }) => !failed).map(sketch => ({ image: sketch.link() }))
  const choice = (content: readonly object[]) => ({ finish_reason: 'stop', message: { role: 'assistant', content } })
  // Wan returns each picture in its own choice; other models return all pictures in one choice.
  const choices = order.entry.model.startsWith('wan') ? images.map(one => choice([one])) : [choice(images)]
  return order.answer({ output: { choices }, usage: usage(images.length), request_id: request.id })
}

async function submit(request: VendorRequest, read: Read): Promise<Played> {
  wantJob(request, true)
  const imageRequest = await readRequest(request, read)
  const { id } = imageRequest.order.open(imageRequest, imageRequest.sketches)
  return imageRequest.order.answer({ output: { task_id: id, task_status: 'PENDING' }, request_id: request.id })
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'PENDING',
  running: 'RUNNING',
  done: 'SUCCEEDED',
  failed: 'FAILED',
  refused: 'FAILED',
  moderated: 'FAILED',
  expired: 'UNKNOWN',
  canceled: 'CANCELED',
}

function poll({ desk, params, id: request }: VendorRequest): Played {
  const id = params['id'] ?? ''
  const job = desk.jobs.find<ReadRequest>(id)
  const state = job?.poll() ?? 'expired'
  const output = { task_id: id, task_status: statuses[state] }
  const answer = (more: object, rest: object = {}) =>
    answerJson(200, { request_id: request, output: { ...output, ...more }, ...rest })
  if (state === 'failed') return answer({ code: 'InternalError.Algo', message: 'The task failed.' })
  if (state === 'refused' || state === 'moderated') return answer(inspected)
  if (state !== 'done' || !job) return answer({})
  const { order, sketches, usage } = job.about
  const lost = { code: 'InternalError.Timeout', message: 'This picture could not be made.' }
  const results = sketches.map(sketch =>
    sketch.failed ? lost : { orig_prompt: order.entry.prompt, url: sketch.link() },
  )
  const failed = sketches.filter(one => one.failed).length
  const metrics = { TOTAL: results.length, SUCCEEDED: results.length - failed, FAILED: failed }
  return answer({ results, task_metrics: metrics }, { usage: usage(results.length - failed) })
}

function cancel({ desk, params, id }: VendorRequest): Played {
  desk.jobs.find(params['id'])?.cancel()
  return answerJson(200, { request_id: id })
}
