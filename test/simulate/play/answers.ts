import type { Random } from '../world/random.ts'
import type { Picture, Usage, Wish } from './asks.ts'
import type { Painted, Painter } from './pictures.ts'

/** An upstream's answer before it is sent. */
export type Answer = {
  readonly status: number
  readonly type: string
  /** The body in the pieces in which the vendor produces it: one image or event each. */
  readonly pieces: readonly string[]
  readonly made: readonly Picture[]
  readonly known: boolean
  readonly usage: Usage | undefined
  /** Whether it reports no usage, or an impossible one. */
  readonly odd?: 'unsaid' | 'absurd'
  readonly textBytes?: number
  readonly headers?: { readonly [name: string]: string }
  /** Where it breaks off. */
  readonly breaks?: 'before' | 'amid' | 'never'
}

type Given = { readonly wish: Wish; readonly random: Random; readonly painter: Painter; readonly asked: Asked }
/** Settings in the request as received. */
export type Asked = { readonly stream: boolean; readonly includeUsage: boolean }
type Shape = (given: Given) => Answer

const json = JSON.stringify
const plain = { status: 200, type: 'application/json', usage: undefined, known: true } as const
const events = { ...plain, type: 'text/event-stream' } as const

function paint({ wish, random, painter }: Given, count = wish.n): Painted[] {
  const isLinked = wish.model.startsWith('beta') && wish.render !== 'b64_json'
  return Array.from({ length: count }, () => (isLinked ? painter.link(random) : painter.paint(random)))
}

/** An element of `data` in the format of the family's vendor, with members that others write next to it. */
function element(random: Random, { base64, url }: Painted): object {
  const image = url === '' ? { b64_json: base64 } : { url }
  if (random.chance(0.2)) return { revised_prompt: 'a boat, "at" sea \\ ✓', ...image }
  if (random.chance(0.2)) return { ...image, revised_prompt: 'ein Boot\n' }
  return image
}

/** The known shapes of image answers, in every form that JSON allows. */
const data: Shape = given => {
  const { random } = given
  const made = paint(given)
  const list = made.map(one => element(random, one))
  const body = random.chance(0.5)
    ? { created: 1_763_640_000, data: list, usage: { total_tokens: 3, input_tokens: 1, output_tokens: 2 } }
    : { background: 'opaque', data: list, created: 1_763_640_000 }
  return { ...plain, made, pieces: [random.chance(0.2) ? JSON.stringify(body, null, 2) : json(body)] }
}

/** Shapes that no family of the configuration describes: each is some vendor's, or could be. */
const unknownShapes: { readonly [name: string]: (images: readonly object[], random: Random) => unknown } = {
  array: images => images,
  'data-object': ([image]) => ({ created: 1, data: image ?? {} }),
  images: images => ({ created: 1, images }),
  'images-beside': images => ({ created: 1, data: [], images }),
  output: images => ({ output: images }),
  predictions: images => ({ predictions: images }),
  nested: images => ({ result: { data: images } }),
  wrapped: images => ({ created: 1, data: images.map(image => ({ image })) }),
  message: images => ({ output: [{ type: 'message', content: images }] }),
  strings: images => ({ created: 1, data: images.map(image => Object.values(image).at(-1) as unknown) }),
  capitals: images => ({ Data: images.map(image => ({ B64_JSON: Object.values(image).at(-1) as unknown })) }),
  inline: images => ({
    candidates: images.map(image => ({
      content: { parts: [{ inlineData: { mimeType: 'image/jpeg', data: Object.values(image).at(-1) as unknown } }] },
    })),
  }),
  'image-url': images => ({ data: images.map(image => ({ image_url: Object.values(image).at(-1) as unknown })) }),
  error: images => ({ error: {}, output: images }),
  'said-in-json': images => ({ output: json({ data: images }) }),
  markdown: images => ({ choices: images.map(image => ({ message: { content: `![a boat](${shown(image)})` } })) }),
  folded: images => ({ created: 1, output: { b64: images.map(image => fold(textOf(image))) } }),
  'url-safe': images => ({ result: images.map(image => textOf(image).replaceAll('+', '-').replaceAll('/', '_')) }),
  scalar: ([image]) => shown(image ?? {}),
}

const textOf = (image: object): string => String(Object.values(image).at(-1))
const fold = (text: string): string => text.replaceAll(/.{76}/g, '$&\n')
/** An image in text. */
function shown(image: object): string {
  return 'url' in image ? String(image.url) : `data:image/png;base64,${textOf(image)}`
}

function unknown(name: string): Shape {
  return given => {
    const painted = paint(given, name === 'data-object' || name === 'scalar' ? 1 : given.wish.n)
    const images = painted.map(({ base64, url }) => (url === '' ? { b64_json: base64 } : { url }))
    const shape = unknownShapes[name] as (images: readonly object[], random: Random) => unknown
    return { ...plain, known: false, made: painted, pieces: [json(shape(images, given.random))] }
  }
}

/** A stream of images: previews, then each complete image. */
function imageEvents(named: string, typed: boolean, field = 'b64_json'): Shape {
  return given => {
    const verb = given.wish.operation === 'edit' ? 'image_edit' : 'image_generation'
    const made = paint(given)
    const pieces = made.flatMap(({ base64 }) => {
      const preview = event(`${verb}.partial_image`, { type: `${verb}.partial_image`, b64_json: 'QUJD' })
      const type = named.replace('VERB', verb)
      const whole = field === 'data' ? { data: [{ b64_json: base64 }] } : { [field]: base64 }
      const last = event(typed ? type : '', typed ? { type, ...whole } : whole)
      return given.random.chance(0.5) ? [preview, last] : [last]
    })
    return { ...events, known: named === 'VERB.completed' && typed && field === 'b64_json', made, pieces }
  }
}

function event(name: string, body: object): string {
  return `${name === '' ? '' : `event: ${name}\n`}data: ${json(body)}\n\n`
}

function refuse(status: number, headers: { readonly [name: string]: string } = {}): Shape {
  return () => ({
    ...plain,
    status,
    headers,
    made: [],
    pieces: [
      json({ error: { message: 'no', type: 'server_error', code: status === 400 ? 'content_policy' : 'busy' } }),
    ],
  })
}

/** Within what the bytes of a request allow: more is an upstream's fault, which has a shape of its own. */
function use(random: Random): Usage {
  const input = 10 + random.int(40)
  return { input, cached: random.chance(0.3) ? random.int(input) : 0, output: 1 + random.int(3_000) }
}

function usageOfChat({ input, cached, output }: Usage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  }
}

const prose = (random: Random): string =>
  random.pick([
    'a boat\n\tat "sea"',
    'ein Boot, 海上的船',
    'const x = `\\n`;\n// ✓',
    'data: {"usage":{"prompt_tokens":1}}',
  ])

/** An answer's usage report; undefined if it has none. */
function reportOf(tells: Parameters<typeof chat>[0], usage: Usage): object | null | undefined {
  if (tells === 'unsaid') return undefined
  if (tells === 'null') return null
  if (tells === 'absurd') return usageOfChat({ ...usage, output: 5_000_000_000 })
  return usageOfChat(tells === 'usage' ? usage : { ...usage, input: 4_000_000_000 })
}

/** Tokens in proportion to the text: usage stays within what the bytes allow. */
function chat(tells: 'usage' | 'unsaid' | 'null' | 'absurd' | 'absurd-input'): Shape {
  return ({ random, asked }) => {
    const usage = use(random)
    const text = `${prose(random)} `.repeat(1 + Math.ceil(usage.output / 4))
    const isTold = tells === 'usage'
    const odd: Answer['odd'] = isTold ? undefined : tells.startsWith('absurd') ? 'absurd' : 'unsaid'
    const facts = {
      usage: isTold ? usage : undefined,
      ...(odd && { odd }),
      textBytes: Buffer.byteLength(text),
    } as const
    const report = reportOf(tells, usage)
    if (!asked.stream) {
      const message = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }
      const body = { id: 'chat', object: 'chat.completion', choices: [message] }
      return {
        ...plain,
        ...facts,
        made: [],
        pieces: [json(report === undefined ? body : { ...body, usage: report })],
      }
    }
    const chunk = (more: object): string =>
      `data: ${json({ id: 'chat', object: 'chat.completion.chunk', ...more })}\n\n`
    const cuts = 1 + random.int(6)
    const size = Math.ceil(text.length / cuts)
    const pieces = Array.from({ length: cuts }, (_, i) =>
      chunk({ choices: [{ index: 0, delta: { content: text.slice(i * size, (i + 1) * size) } }] }),
    )
    pieces.push(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    if (report !== undefined && asked.includeUsage) pieces.push(chunk({ choices: [], usage: report }))
    return { ...events, ...facts, made: [], pieces: [...pieces, 'data: [DONE]\n\n'] }
  }
}

/** A chat whose tool has made an image, although its model is one for text. */
const drawn: Shape = given => {
  const usage = use(given.random)
  const made = paint(given, 1)
  const images = made.map(({ base64 }) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${base64}` },
  }))
  const message = { role: 'assistant', content: prose(given.random), images }
  const common = { id: 'chat', usage: usageOfChat(usage) }
  if (!given.asked.stream)
    return {
      ...plain,
      usage,
      made,
      pieces: [json({ ...common, choices: [{ index: 0, message, finish_reason: 'stop' }] })],
    }
  const chunk = event('', { ...common, choices: [{ index: 0, delta: message }] })
  return { ...events, usage, made, pieces: [chunk, 'data: [DONE]\n\n'] }
}

/** Pieces into which a picture's text is cut: shorter than any picture. */
const pieceChars = 80

/** A chat with a model that makes images: where its picture is, and how often it occurs. */
function sketch(where: 'images' | 'content' | 'reasoning', times = 1): Shape {
  return given => {
    const { asked, random } = given
    const made = paint(given, 1)
    const url = `data:image/png;base64,${made[0]?.base64 ?? ''}`
    const common = { id: 'chat', model: 'sketch-one' }
    const usage = usageOfChat(use(random))
    const image = { type: 'image_url', image_url: { url } }
    const text = where === 'content' ? `Here it is: ![a boat](${url})` : url
    const parts: object[] =
      where === 'images'
        ? Array.from({ length: times }, () => ({ content: 'a boat', images: [image] }))
        : Array.from({ length: asked.stream ? Math.ceil(text.length / pieceChars) : 1 }, (_, i) => ({
            [where]: asked.stream ? text.slice(i * pieceChars, (i + 1) * pieceChars) : text,
          }))
    if (!asked.stream) {
      const message = { role: 'assistant', content: null, ...parts[0] }
      return {
        ...plain,
        made,
        pieces: [json({ ...common, choices: [{ index: 0, message, finish_reason: 'stop' }], usage })],
      }
    }
    const chunk = (choices: readonly object[], more: object = {}): string => event('', { ...common, choices, ...more })
    const deltas = parts.map(delta => chunk([{ index: 0, delta }]))
    const last = chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
    return { ...events, made, pieces: [...deltas, last, chunk([], { usage }), 'data: [DONE]\n\n'] }
  }
}

/** A response whose tool makes an image. */
function drawing(count: number): Shape {
  return given => {
    const { random, asked } = given
    const made = paint(given, count)
    const usage = { ...use(random), cached: 0 }
    const calls = made.map(({ base64 }, i) => ({
      id: `ig_${given.wish.seed}_${i}`,
      type: 'image_generation_call',
      status: 'completed',
      result: base64,
    }))
    const message = {
      type: 'message',
      content: [{ type: 'output_text', text: `${prose(random)} `.repeat(usage.output) }],
    }
    const reported = {
      input_tokens: usage.input,
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
    }
    const response = {
      id: 'resp',
      object: 'response',
      status: 'completed',
      output: [...calls, message],
      usage: reported,
    }
    if (!asked.stream) return { ...plain, made, usage, pieces: [json(response)] }
    const done = calls.map((item, i) => event('', { type: 'response.output_item.done', output_index: i, item }))
    return { ...events, made, usage, pieces: [...done, event('', { type: 'response.completed', response })] }
  }
}

const embedding: Shape = ({ random }) => {
  const usage = { input: 1 + random.int(20), cached: 0, output: 0 }
  const list = [{ object: 'embedding', index: 0, embedding: [0.1, -0.2] }]
  const reported = { prompt_tokens: usage.input, total_tokens: usage.input }
  return { ...plain, made: [], usage, pieces: [json({ object: 'list', data: list, model: 'e', usage: reported })] }
}

const broken =
  (shape: Shape, breaks: 'before' | 'amid' | 'never'): Shape =>
  given => ({ ...shape(given), breaks })

/** Faults that can occur with any operation. */
const failing = {
  error400: refuse(400),
  error429: refuse(429, { 'retry-after': '2' }),
  error500: refuse(500),
  error503: refuse(503),
} satisfies { readonly [name: string]: Shape }

const unknownImages = Object.fromEntries(Object.keys(unknownShapes).map(name => [name, unknown(name)]))
const emptyList: Shape = () => ({ ...plain, made: [], pieces: [json({ created: 1, data: [] })] })

/** Refusals of a vendor for one request alone: by its message or numbers, or without any sign. */
const bodyRefusals: { readonly [name: string]: Shape } = {
  'too dear': refuseBody(402, 'This request requires more credits, or fewer max_tokens, but can only afford 18721.'),
  'too large': refuseBody(429, 'Request too large on tokens per min (TPM): Limit 30000, Requested 40012.'),
  'too dear, unsaid': refuseBody(402, 'Payment required'),
  'too large, unsaid': refuseBody(429, 'Slow down'),
}
export const bodyRefusalNames = Object.keys(bodyRefusals)

function refuseBody(status: number, message: string): Shape {
  return () => ({ ...plain, status, made: [], pieces: [json({ error: { message, code: status } })] })
}

const stray = 'https://stray.example/of/no/picture.png'

/** Pictures next to links that lead to none of them. */
const linked: Shape = given => {
  if (given.asked.stream) {
    const strayEvent = event('image.saved', { type: 'image.saved', url: stray })
    const streamed = imageEvents('VERB.completed', true)(given)
    return { ...streamed, pieces: [strayEvent, ...streamed.pieces, strayEvent] }
  }
  const made = paint(given)
  const list = made.map(one => ({ thumbnail: stray, ...element(given.random, one), preview: { href: stray } }))
  const body = { links: { self: stray }, created: 1, data: list, images: [{ href: stray }], next: stray }
  return { ...plain, made, pieces: [json(body)] }
}

/** JSON instead of a requested stream, and the reverse. */
const turned: Shape = given => {
  const { asked, wish } = given
  if (wish.operation === 'chat') {
    const other = { ...given, asked: { ...asked, stream: !asked.stream } }
    return { ...chat('usage')(other), known: false, usage: undefined }
  }
  if (given.asked.stream) return data(given)
  return given.wish.model.startsWith('beta') ? data(given) : imageEvents('VERB.completed', true)(given)
}

/** An error page with status 200: nothing was made. */
const page: Shape = () => ({
  ...plain,
  type: 'text/html',
  known: false,
  made: [],
  pieces: ['<!doctype html><title>Sign in</title><p>Sign in to go on.'],
})

/** Irregular answers to requests for pictures. */
const strange: { readonly [name: string]: Shape } = { linked, turned, page }
export const strangeNames = Object.keys(strange)
/** Answers of an image model in a chat. */
export const sketchNames = ['data', 'in-text', 'in-thoughts', 'twice', 'words', 'words']

/** The shapes of each kind of answer, by name. */
const grammar: { readonly [kind: string]: { readonly [name: string]: Shape } } = {
  images: {
    data,
    empty: emptyList,
    'before-data': broken(data, 'before'),
    'amid-data': broken(data, 'amid'),
    'never-data': broken(data, 'never'),
    ...unknownImages,
    ...failing,
  },
  imageEvents: {
    data: imageEvents('VERB.completed', true),
    'amid-data': broken(imageEvents('VERB.completed', true), 'amid'),
    'before-data': broken(imageEvents('VERB.completed', true), 'before'),
    partial: imageEvents('VERB.partial_succeeded', true),
    untyped: imageEvents('VERB.completed', false),
    listed: imageEvents('VERB.completed', true, 'data'),
    inline: imageEvents('VERB.completed', true, 'inlineData'),
    ...failing,
  },
  chat: {
    data: chat('usage'),
    unsaid: chat('unsaid'),
    'null-usage': chat('null'),
    absurd: chat('absurd'),
    'absurd-input': chat('absurd-input'),
    'amid-data': broken(chat('usage'), 'amid'),
    'before-data': broken(chat('usage'), 'before'),
    ...failing,
  },
  sketch: {
    data: sketch('images'),
    'in-text': sketch('content'),
    'in-thoughts': sketch('reasoning'),
    twice: sketch('images', 2),
    words: chat('usage'),
    'amid-data': broken(sketch('content'), 'amid'),
    ...failing,
  },
  responses: {
    data: drawing(1),
    two: drawing(2),
    none: drawing(0),
    'amid-data': broken(drawing(1), 'amid'),
    ...failing,
  },
  embeddings: { data: embedding, 'before-data': broken(embedding, 'before'), ...failing },
}

function kindOf({ operation, stream }: Pick<Wish, 'operation' | 'stream'>): string {
  if (operation === 'image' || operation === 'edit') return stream ? 'imageEvents' : 'images'
  return operation
}

/** The names of the possible shapes of an operation's answers, successful ones first. */
export function shapeNames(wish: Pick<Wish, 'operation' | 'stream'>): readonly string[] {
  return Object.keys(grammar[kindOf(wish)] ?? {})
}

/** The answer with a shape; the ordinary one for an unknown name. */
export function compose(name: string, given: Given): Answer {
  // No plan contains it: it depends on the request instead of the wish.
  if (name === 'drawn') return drawn(given)
  const shapes = grammar[kindOf({ ...given.wish, stream: given.asked.stream })] ?? {}
  const shape = bodyRefusals[name] ?? strange[name] ?? shapes[name] ?? shapes['data']
  if (!shape) throw new Error(`there is no answer to ${given.wish.operation}`)
  return shape(given)
}
