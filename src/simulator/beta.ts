import { answerJson, answerPieces, jsonWithInline } from './answer.ts'
import type { JsonPieces } from './answer.ts'
import type { Fields } from './request-fields.ts'
import { readChoice, readEdit, readFields, readInteger, readPrompt, readText, refuseUnknown } from './request-fields.ts'
import { fail } from './errors.ts'
import type { Picture } from './pictures/picture.ts'
import { seedOf } from './pictures/picture.ts'
import { betaSize, betaSizes, nearestBetaRatio, readBetaSize } from './sizes.ts'
import type { BetaSize } from './sizes.ts'
import type { Call, Played, SimulatedUpstream } from './upstream.ts'

const referencesMax = 3
const jpegQuality = 85

/**
 * Family B, as in `docs/rules.md#sizes`: 1K or 2K in thirteen ratios, temporary links unless a generation requests
 * base64, at most three reference images. Requests give a resolution and a ratio, or a raw `size`, which is replaced by
 * the nearest pair. Unknown fields are refused.
 */
export const beta: SimulatedUpstream = {
  'POST /v1/images/generations': async call => {
    const fields = readFields(call)
    const prompt = readOrder(fields)
    const responseFormat = readChoice(fields, 'response_format', ['url', 'b64_json'], 'url')
    const pictures = picturesOf(fields, betaSize(readSize(fields)), 'jpeg', seedOf(prompt))
    return responseFormat === 'url' ? answerLinks(call, pictures) : answerInline(call, pictures)
  },
  'POST /v1/images/edits': call => {
    const { fields, references } = readEdit(call)
    if (references.length > referencesMax) {
      throw fail('too_many_images', { max: referencesMax, found: references.length })
    }
    // `response_format` is a known field without any effect.
    const prompt = readOrder(fields)
    const [first] = references
    const size = readSize(fields)
    const pixels = betaSize({ ...size, ratio: size.ratio ?? nearestBetaRatio(first.pixels) })
    // A picture is JPEG or PNG; only the simulator takes the format from the reference.
    const format = first.content[0] === 0x89 ? 'png' : 'jpeg'
    const seed = seedOf(prompt, ...references.map(({ content }) => seedOf(content.length, content.subarray(0, 4096))))
    return answerLinks(call, picturesOf(fields, pixels, format, seed))
  },
}

const knownFields = new Set(['model', 'prompt', 'n', 'size', 'resolution', 'aspect_ratio', 'response_format'])
const ratios = betaSizes.map(({ ratio }) => ratio)

/** @returns the prompt */
function readOrder(fields: Fields): string {
  refuseUnknown(fields, knownFields)
  return readPrompt(fields)
}

function readSize(fields: Fields): BetaSize {
  const size = readText(fields, 'size')
  if (size === undefined) {
    const ratio = readChoice(fields, 'aspect_ratio', [...ratios, 'auto'], 'auto')
    return {
      resolution: readChoice(fields, 'resolution', ['1k', '2k'], '2k'),
      ratio: ratio === 'auto' ? undefined : ratio,
    }
  }
  if (fields.has('resolution') || fields.has('aspect_ratio')) throw fail('conflicting_parameters')
  return readBetaSize(size)
}

function picturesOf(
  fields: Fields,
  pixels: { width: number; height: number },
  format: 'jpeg' | 'png',
  seed: string,
): readonly Picture[] {
  const count = readInteger(fields, 'n', { min: 1, max: 10, otherwise: 1 })
  return Array.from({ length: count }, (_, index) => ({
    ...pixels,
    format,
    seed: index === 0 ? seed : seedOf(seed, index),
    detail: 3,
    quality: jpegQuality,
  }))
}

function answerLinks({ site }: Call, pictures: readonly Picture[]): Played {
  return answerJson(200, {
    created: seconds(site.now()),
    data: pictures.map(picture => ({ url: site.publish(picture) })),
  })
}

async function answerInline({ site }: Call, pictures: readonly Picture[]): Promise<Played> {
  const pieces: JsonPieces[number][] = [`{"created":${seconds(site.now())},"data":[`]
  for (const [index, picture] of pictures.entries()) {
    pieces.push(index === 0 ? '' : ',', ...jsonWithInline({}, 'b64_json', await site.paint(picture), {}))
  }
  return answerPieces([...pieces, ']}'])
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
