import { seedOf } from '../pictures/picture.ts'
import { text as textUpstream } from '../text/upstream.ts'
import type { Handler, Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, either, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import { sizeOf } from './gemini-models.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder, record } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import type { Worded } from './problem.ts'
import { seconds, withNote } from './shapes.ts'

const onVertex = '/projects/{project}/locations/{location}/publishers/google/models/{model}'

const images: SimulatedUpstream = openVendor({
  name: 'gemini',
  words: {
    // Without a key the vendor refuses with 403, not 401, except at Vertex (see `credential`).
    statuses: { unauthorized: 403, content_type: 400 },
    codes: {
      unauthorized: 'PERMISSION_DENIED',
      not_found: 'NOT_FOUND',
      busy: 'RESOURCE_EXHAUSTED',
      broken: 'INTERNAL',
      otherwise: 'INVALID_ARGUMENT',
    },
    body: errorOf,
  },
  credential: ({ headers, query, params }) => {
    if (headers['x-goog-api-key'] !== undefined || bearer({ headers })) return true
    if (params['project'] === undefined) return query.has('key')
    throw new Problem('unauthorized', 'Request is missing required authentication credential.', { status: 401 })
  },
  routes: {
    ...Object.fromEntries(
      ['/v1beta/models/{model}', '/v1/models/{model}', `/v1${onVertex}`, `/v1beta1${onVertex}`].flatMap(path => [
        [`POST ${path}:generateContent`, generate],
        [`POST ${path}:streamGenerateContent`, stream],
      ]),
    ),
    'POST /v1beta/openai/images/generations': likeChatCompletions,
  },
})

/** Gemini: image models at the Gemini API, at Vertex and at the endpoint with OpenAI's format; and text models. */
export const gemini: SimulatedUpstream = {
  ...textUpstream,
  ...Object.fromEntries(Object.entries(images).map(([route, draw]) => [route, byModel(draw, textUpstream[route])])),
}

/** Image models and text models have the same paths. */
function byModel(draw: Handler, write: Handler | undefined): Handler {
  return write ? call => (/image/.test(call.params['model'] ?? '') ? draw : write)(call) : draw
}

function errorOf({ status, code, message }: Pick<Worded, 'status' | 'code' | 'message'>): object {
  return { error: { code: status, message, status: status === 401 ? 'UNAUTHENTICATED' : code } }
}

const blob = shape({ mimeType: must(text), data: must(image('base64')), displayName: text })
const part = shape({
  text,
  thought: anything,
  thoughtSignature: text,
  inlineData: blob,
  fileData: shape({ mimeType: text, fileUri: must(text) }),
})
const content = shape({ role: oneOf('user', 'model', 'system'), parts: must(list(part, 100)) })
const imageConfig = shape({
  aspectRatio: text,
  imageSize: text,
  personGeneration: text,
  prominentPeople: text,
  outputMimeType: text,
  outputCompressionQuality: whole(0, 100),
  imageOutputOptions: shape({ mimeType: text, compressionQuality: whole(0, 100) }),
})
const schema = {
  model: text,
  contents: must(list(content, 100)),
  systemInstruction: either(content, text),
  safetySettings: list(shape({ category: must(text), threshold: must(text), method: text }), 20),
  tools: list(anything, 20),
  toolConfig: anything,
  cachedContent: text,
  labels: anything,
  generationConfig: shape({
    responseModalities: list(oneOf('TEXT', 'IMAGE'), 2),
    imageConfig,
    candidateCount: whole(1, 8),
    temperature: decimal(0, 2),
    topP: decimal(0, 1),
    topK: decimal(0, 1000),
    seed: whole(-2_147_483_648, 2_147_483_647),
    maxOutputTokens: whole(1, 65_536),
    stopSequences: list(text, 5),
    responseMimeType: text,
    mediaResolution: text,
    thinkingConfig: shape({ includeThoughts: anything, thinkingBudget: whole(-1, 65_536), thinkingLevel: text }),
  }),
}

type ReadRequest = {
  readonly order: Order
  readonly words: boolean
  readonly sketches: readonly Sketch[]
  readonly tokens: number
}

async function readRequest(request: VendorRequest, streamed: boolean): Promise<ReadRequest> {
  const name = request.params['model'] ?? ''
  const read = readJson({ headers: request.headers, body: camelBody(request.body) }, schema)
  const config = read.generationConfig
  if ((config?.candidateCount ?? 1) > 1) {
    throw new Problem('invalid_value', 'Multiple candidates is not enabled for this model')
  }
  const prompt = read.contents
    .flatMap(({ parts }) => parts.map(one => one.text ?? ''))
    .join(' ')
    .trim()
  if (prompt === '') throw new Problem('missing_field', 'GenerateContentRequest.contents: contents is not specified')
  const { pixels, tokens, price } = sizeOf(name, config?.imageConfig?.aspectRatio, config?.imageConfig?.imageSize)
  const order = await openOrder(request, name, prompt, streamed)
  const modalities = config?.responseModalities ?? ['TEXT', 'IMAGE']
  const more = order.demands.numbers('more')?.[0] ?? 0
  const silent = ['refused', 'moderated', 'words-only'].some(demand => order.demands.has(demand))
  const count = silent || !modalities.includes('IMAGE') ? 0 : 1 + more
  return {
    order,
    words: modalities.includes('TEXT'),
    sketches: order.sketch(count, { ...pixels, format: 'png', price }),
    tokens,
  }
}

async function generate(request: VendorRequest): Promise<Played> {
  const read = await readRequest(request, false)
  return read.order.answer(await wholeAnswer(request, read))
}

async function wholeAnswer(request: VendorRequest, read: ReadRequest): Promise<object> {
  const parts: object[] = []
  for (const make of partsOf(read)) parts.push(await make())
  return chunkOf(request, read, parts, finishOf(read.order), read.sketches.length)
}

async function stream(request: VendorRequest): Promise<Played> {
  const read = await readRequest(request, true)
  const makers = partsOf(read)
  if (request.query.get('alt') !== 'sse') return read.order.answer([await wholeAnswer(request, read)])
  const records = makers.map(make => async () => record(chunkOf(request, read, [await make()], undefined, 0)))
  const last = () => record(chunkOf(request, read, [], finishOf(read.order), read.sketches.length))
  const broken = record(errorOf({ status: 503, code: 'UNAVAILABLE', message: 'The model is overloaded.' }))
  return read.order.events([...records, last], broken)
}

/** Functions that make the parts of the answer, each called when its part is sent. */
function partsOf({ order, words, sketches }: ReadRequest): readonly (() => Promise<object>)[] {
  const { demands } = order
  if (demands.has('refused') || demands.has('moderated')) return []
  const say = (text: string) => async () => ({ text })
  if (demands.has('words-only')) return [say('I would rather talk about it.')]
  const thoughts = Array.from({ length: demands.numbers('thoughts')?.[0] ?? 0 }, (_, i) => {
    const thought = order.extra(sketches[0] ?? { width: 1024, height: 1024, format: 'png' }, i)
    return async () => ({ ...(await inline(thought)), thought: true })
  })
  const pictures = sketches.flatMap(sketch => {
    const first = async () => {
      order.make(sketch)
      return sketch.failed ? { text: 'This one could not be drawn.' } : await inline(sketch)
    }
    const again = async () =>
      inline({ ...sketch, base64: async () => withNote(await sketch.bytes()).toString('base64') })
    return demands.has('twice') ? [first, again] : [first]
  })
  return [...thoughts, ...(words ? [say('Here is your picture.')] : []), ...pictures]
}

async function inline(sketch: Sketch): Promise<object> {
  return { inlineData: { mimeType: sketch.mime, data: await sketch.base64() } }
}

function finishOf({ demands }: Order): string {
  return demands.has('moderated') ? 'IMAGE_SAFETY' : 'STOP'
}

function chunkOf(
  request: VendorRequest,
  { order, tokens }: ReadRequest,
  parts: readonly object[],
  finishReason: string | undefined,
  count: number,
): object {
  const input = Math.ceil(order.entry.prompt.length / 4)
  const blocked = order.demands.has('refused')
  const moderated = finishReason === 'IMAGE_SAFETY' && { finishMessage: 'Unable to show the generated image.' }
  const answered = parts.length > 0 && { content: { parts, role: 'model' } }
  return {
    ...(blocked
      ? { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
      : { candidates: [{ ...answered, ...(finishReason && { finishReason, ...moderated }), index: 0 }] }),
    usageMetadata: {
      promptTokenCount: input,
      ...(count > 0 && { candidatesTokenCount: count * tokens }),
      totalTokenCount: input + count * tokens,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
      ...(count > 0 && { candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: count * tokens }] }),
    },
    modelVersion: request.params['model'],
    responseId: seedOf(request.id).slice(0, 22),
    createTime: new Date(seconds(request.site.now()) * 1000).toISOString(),
  }
}

/** The vendor's compatible endpoint, section 2.2: the response has neither `created` nor usage. */
async function likeChatCompletions(request: VendorRequest): Promise<Played> {
  const read = readJson(request, {
    model: must(text),
    prompt: must(text),
    n: whole(1, 10),
    size: text,
    response_format: oneOf('b64_json'),
    user: text,
  })
  const { pixels, price } = sizeOf(read.model)
  const order = await openOrder(request, read.model, read.prompt)
  if (order.demands.has('refused')) throw new Problem('moderated', 'The prompt was blocked.')
  const drawn = order.draw(read.n ?? 1, { ...pixels, format: 'png', price }).filter(({ failed }) => !failed)
  const data = await Promise.all(drawn.map(async sketch => ({ b64_json: await sketch.base64() })))
  return order.answer({ data, model: read.model })
}

/** The vendor accepts fields in camel case and in snake case. */
function camelBody(body: Buffer): Buffer {
  try {
    return Buffer.from(JSON.stringify(camel(JSON.parse(body.toString()))))
  } catch {
    return body
  }
}

function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(member),
    ]),
  )
}
