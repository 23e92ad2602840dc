import { answerEvents, answerPieces, jsonWithInline } from './answer.ts'
import type { JsonPieces } from './answer.ts'
import type { Fields } from './request-fields.ts'
import {
  readChoice,
  readEdit,
  readFields,
  readFlag,
  readInteger,
  readPrompt,
  readText,
  refuseUnknown,
} from './request-fields.ts'
import { fail } from './errors.ts'
import type { Pixels } from './pictures/measure.ts'
import type { Detail, Picture, PictureFormat } from './pictures/picture.ts'
import { seedOf } from './pictures/picture.ts'
import { alphaSize, alphaSizeLike } from './sizes.ts'
import type { Call, Played, SimulatedUpstream } from './upstream.ts'

/**
 * Family A, as in `docs/rules.md#sizes`: always base64, about 1.57 megapixels for every request; `quality` has no
 * effect. `size` gives the ratio of a generation; the first reference image gives the ratio of an edit.
 */
export const alpha: SimulatedUpstream = {
  'POST /v1/images/generations': call => {
    const fields = readFields(call)
    refuseUnknown(fields, generationFields)
    const prompt = readPrompt(fields)
    return draw(
      call,
      'image_generation',
      readOrder(fields),
      prompt,
      alphaSize(readText(fields, 'size')),
      seedOf(prompt),
    )
  },
  'POST /v1/images/edits': call => {
    const { fields, references } = readEdit(call)
    if (fields.has('response_format')) {
      throw fail('unknown_parameter', { name: 'response_format' }, { param: 'response_format' })
    }
    const prompt = readPrompt(fields)
    const seed = seedOf(prompt, ...references.map(({ content }) => seedOf(content.length, content.subarray(0, 4096))))
    return draw(call, 'image_edit', readOrder(fields), prompt, alphaSizeLike(references[0].pixels), seed)
  },
}

/** Without `response_format`: the family has no links, and refuses the field. */
const generationFields = new Set(
  'model prompt n size quality output_format output_compression background moderation stream partial_images user'.split(
    ' ',
  ),
)

type Order = {
  readonly count: number
  readonly format: PictureFormat
  readonly quality: number
  readonly stream: boolean
  readonly partials: number
}

function readOrder(fields: Fields): Order {
  const format = readChoice(fields, 'output_format', ['png', 'jpeg', 'webp'], 'png')
  const background = readChoice(fields, 'background', ['auto', 'opaque', 'transparent'], 'auto')
  if (background === 'transparent' && format === 'jpeg') {
    const params = { name: 'background', found: background, expected: 'auto and opaque with output_format jpeg' }
    throw fail('invalid_value', params, { param: 'background' })
  }
  readChoice(fields, 'moderation', ['auto', 'low'], 'auto')
  return {
    count: readInteger(fields, 'n', { min: 1, max: 10, otherwise: 1 }),
    format,
    quality: readInteger(fields, 'output_compression', { min: 0, max: 100, otherwise: 100 }),
    stream: readFlag(fields, 'stream'),
    partials: readInteger(fields, 'partial_images', { min: 0, max: 3, otherwise: 0 }),
  }
}

type Verb = 'image_generation' | 'image_edit'

function draw(
  call: Call,
  verb: Verb,
  order: Order,
  prompt: string,
  pixels: Pixels,
  seed: string,
): Promise<Played> | Played {
  const pictureAt = (index: number, detail: Detail): Picture => ({
    ...pixels,
    format: order.format,
    seed: index === 0 ? seed : seedOf(seed, index),
    detail,
    quality: order.format === 'jpeg' ? Math.max(1, order.quality) : 100,
  })
  // These facts describe the returned picture, not the request. Pictures are always opaque, and have the family's own
  // quality: requests may contain `auto`, but clients with strict types reject it in a response.
  const facts = {
    background: 'opaque',
    output_format: order.format,
    quality: 'medium',
    size: `${pixels.width}x${pixels.height}`,
  }
  return order.stream
    ? answerEvents(streamPictures(call, verb, order, prompt, pictureAt, facts))
    : answerPictures(call, order, pictureAt, facts)
}

async function answerPictures(
  { site }: Call,
  { count }: Order,
  pictureAt: (index: number, detail: Detail) => Picture,
  { background, ...facts }: { background: string },
): Promise<Played> {
  const pieces: JsonPieces[number][] = [`{"created":${seconds(site.now())},"background":"${background}","data":[`]
  for (let index = 0; index < count; index++) {
    const bytes = await site.paint(pictureAt(index, 3))
    pieces.push(index === 0 ? '' : ',', ...jsonWithInline({}, 'b64_json', bytes, {}))
  }
  pieces.push(`],${JSON.stringify(facts).slice(1)}`)
  return answerPieces(pieces)
}

async function* streamPictures(
  { site }: Call,
  verb: Verb,
  { count, partials }: Order,
  prompt: string,
  pictureAt: (index: number, detail: Detail) => Picture,
  facts: object,
): AsyncIterable<{ type: string; json: JsonPieces }> {
  const event = (type: string, bytes: Buffer, more: object) => {
    return {
      type,
      json: jsonWithInline({ type }, 'b64_json', bytes, { created_at: seconds(site.now()), ...facts, ...more }),
    }
  }
  for (let index = 0; index < count; index++) {
    for (let partial = 0; partial < partials; partial++) {
      const bytes = await site.paint(pictureAt(index, (3 - partials + partial) as Detail))
      yield event(`${verb}.partial_image`, bytes, { partial_image_index: partial })
    }
    const bytes = await site.paint(pictureAt(index, 3))
    yield event(`${verb}.completed`, bytes, { usage: usageOf(prompt) })
  }
}

/**
 * Token counts, because the wire format has them in `completed`. The numbers are arbitrary; nothing is charged by them.
 */
function usageOf(prompt: string): object {
  const input = Math.ceil(prompt.length / 4)
  const output = 1568
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
