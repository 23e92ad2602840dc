import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, either, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'

import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder, record } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize, seconds, shapeAt } from './shapes.ts'

/** OpenRouter: its own Image API, and pictures in chat completions. */
export const openrouter: SimulatedUpstream = openVendor({
  name: 'openrouter',
  words: {
    statuses: { moderated: 403 },
    codes: { otherwise: 'error' },
    body: ({ status, message }) => ({ error: { code: status, message } }),
  },
  credential: bearer,
  routes: { 'POST /api/v1/images': draw, 'POST /api/v1/chat/completions': chat },
})

const reference = shape({
  type: must(oneOf('image_url')),
  image_url: must(shape({ url: must(image('link', 'data-url')), detail: text })),
})
const resolutions = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 } as const
const fields = {
  model: must(text),
  prompt: must(text),
  n: whole(1, 10),
  size: text,
  aspect_ratio: text,
  resolution: oneOf('512', '1K', '2K', '4K'),
  quality: oneOf('auto', 'low', 'medium', 'high', 'xhigh', 'max'),
  background: text,
  output_format: oneOf('png', 'jpeg', 'webp'),
  output_compression: whole(0, 100),
  seed: whole(0, 2_147_483_647),
  provider: anything,
  stream: flag,
  user: text,
  input_references: list(reference, 16),
}

const price = '0.04'
const tokensEach = 1290

function checkModel(model: string): void {
  if (!/^[\w.-]+\/[\w.:-]+$/.test(model)) throw new Problem('invalid_value', `${model} is not a valid model ID`)
}

function pixelsOf(size: string | undefined, ratio = '1:1', resolution: keyof typeof resolutions = '1K'): Pixels {
  if (size === undefined) {
    if (!/^\d{1,2}:\d{1,2}$/.test(ratio)) throw new Problem('invalid_value', 'aspect_ratio: invalid format')
    return shapeAt(ratio, (1024 * resolutions[resolution]) ** 2, 16)
  }
  const pixels = parseSize(size)
  if (!pixels) throw new Problem('invalid_value', 'size: invalid format')
  return pixels
}

function usageOf({ entry }: Order, made: number): object {
  const input = Math.ceil(entry.prompt.length / 4)
  const output = made * tokensEach
  const cost = Number(entry.summary().cost)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    cost,
    is_byok: false,
    cost_details: {
      upstream_inference_cost: cost,
      upstream_inference_prompt_cost: 0,
      upstream_inference_completions_cost: cost,
    },
    completion_tokens_details: { image_tokens: output },
  }
}

async function draw(request: VendorRequest): Promise<Played> {
  const read = readJson(request, fields)
  checkModel(read.model)
  const pixels = pixelsOf(read.size, read.aspect_ratio, read.resolution)
  const order = await openOrder(request, read.model, read.prompt, read.stream)
  if (order.demands.has('refused')) throw new Problem('moderated', 'Your input was flagged.')
  const wanted = { ...pixels, format: read.output_format ?? ('png' as const), price }
  const sketches = order.sketch(read.n ?? 1, wanted).filter(({ failed }) => !failed)
  const created = seconds(request.site.now())
  const item = async (sketch: Sketch) => ({ b64_json: await sketch.base64(), media_type: sketch.mime })
  if (!read.stream) {
    for (const sketch of sketches) order.make(sketch)
    return order.answer({ created, data: await eachOf(sketches, item), usage: usageOf(order, sketches.length) })
  }
  const events = sketches.flatMap(sketch => [
    async () => {
      const b64_json = await order.extra(wanted, sketch.index).base64()
      return record({ type: 'image_generation.partial_image', b64_json, partial_image_index: 0 })
    },
    async () => {
      order.make(sketch)
      const usage = usageOf(order, sketch.index + 1)
      return record({ type: 'image_generation.completed', created, ...(await item(sketch)), usage })
    },
  ])
  const error = { code: '502', message: 'Provider returned error', param: null, type: 'provider_error' }
  return order.events([() => ': OPENROUTER PROCESSING\n\n', ...events, done], record({ type: 'error', error }))
}

const done = () => 'data: [DONE]\n\n'

const piece = shape({
  type: must(oneOf('text', 'image_url')),
  text,
  image_url: shape({ url: must(image('link', 'data-url')), detail: text }),
})
const message = shape({
  role: must(oneOf('system', 'user', 'assistant')),
  content: must(either(text, list(piece, 20))),
  images: anything,
})
const chatFields = {
  model: must(text),
  messages: must(list(message, 50)),
  modalities: list(oneOf('image', 'text'), 2),
  image_config: shape({ aspect_ratio: text, image_size: oneOf('512', '1K', '2K', '4K') }),
  stream: flag,
  stream_options: anything,
  usage: anything,
  temperature: decimal(0, 2),
  max_tokens: whole(1, 1_000_000),
  seed: whole(0, 2_147_483_647),
  provider: anything,
  user: text,
}

async function chat(request: VendorRequest): Promise<Played> {
  const read = readJson(request, chatFields)
  checkModel(read.model)
  const prompt = read.messages.map(({ content }) => wordsOf(content)).join(' ')
  const order = await openOrder(request, read.model, prompt, read.stream)
  const { demands } = order
  if (demands.has('refused')) throw new Problem('moderated', 'Your input was flagged.')
  // An image model makes pictures unless the request wants only text.
  const drawn = (read.modalities ?? ['image']).includes('image') && !demands.has('words-only')
  const { aspect_ratio: ratio, image_size: size } = read.image_config ?? {}
  const count = drawn ? 1 + (demands.numbers('more')?.[0] ?? 0) : 0
  const sketches = order.sketch(count, { ...pixelsOf(undefined, ratio, size), format: 'png', price })
  const item = async (sketch: Sketch) => {
    order.make(sketch)
    return { type: 'image_url', image_url: { url: await sketch.dataUrl() }, index: sketch.index }
  }
  const head = {
    id: `gen-${request.id}`,
    provider: 'Simulated',
    model: read.model,
    created: seconds(request.site.now()),
  }
  const content = drawn ? '' : 'I would rather talk about it.'
  if (!read.stream) {
    const images = await eachOf(sketches, item)
    const reply = { role: 'assistant', content, refusal: null, ...(images.length > 0 && { images }) }
    const choices = [{ index: 0, message: reply, finish_reason: 'stop', native_finish_reason: 'STOP' }]
    return order.answer({ ...head, object: 'chat.completion', choices, usage: usageOf(order, images.length) })
  }
  const chunk = (delta: object, finish: string | null, more: object = {}) =>
    record({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more })
  const role = 'assistant'
  const shown = sketches.map(sketch => async () => chunk({ role, content: '', images: [await item(sketch)] }, null))
  const last = () => chunk({ role, content: '' }, null, { usage: usageOf(order, sketches.length) })
  const start = [() => ': OPENROUTER PROCESSING\n\n', () => chunk({ role, content }, null)]
  const end = [() => chunk({ role, content: '' }, 'stop'), last, done]
  return order.events(
    [...start, ...shown, ...end],
    record({ ...head, error: { code: 502, message: 'Provider error' } }),
  )
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  const pieces = Array.isArray(content) ? (content as { text?: string }[]) : []
  return pieces.flatMap(one => one.text ?? []).join(' ')
}
