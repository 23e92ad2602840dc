import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, image, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Read, Sent } from './fields.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { eachOf, openOrder } from './order.ts'
import type { Order, Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Bedrock: the model in the path determines the shapes; all of them return a list of plain base64. */
export const bedrock: SimulatedUpstream = openVendor({
  name: 'bedrock',
  words: {
    statuses: { unauthorized: 403, content_type: 400 },
    codes: {
      unauthorized: 'MissingAuthenticationTokenException',
      busy: 'ThrottlingException',
      broken: 'InternalServerException',
      otherwise: 'ValidationException',
    },
    body: ({ message }) => ({ message }),
    headers: ({ code }) => ({ 'x-amzn-errortype': code }),
  },
  // A signature, or a key of Bedrock; the simulator does not check either.
  credential: call => bearer(call) || bearer(call, 'AWS4-HMAC-SHA256'),
  routes: { 'POST /model/{model}/invoke': invoke },
})

const seed = whole(0, 2_147_483_646)
const picture = image('base64')
const side = whole(320, 4096, 16)
const novaFields = {
  taskType: must(oneOf('TEXT_IMAGE', 'IMAGE_VARIATION', 'INPAINTING', 'OUTPAINTING', 'BACKGROUND_REMOVAL')),
  textToImageParams: shape({
    text: must(text),
    negativeText: text,
    conditionImage: picture,
    controlMode: text,
    controlStrength: decimal(0, 1),
    style: text,
  }),
  imageVariationParams: shape({
    images: anything,
    text: must(text),
    negativeText: text,
    similarityStrength: decimal(0.2, 1),
  }),
  inPaintingParams: shape({
    image: must(picture),
    text: must(text),
    negativeText: text,
    maskPrompt: text,
    maskImage: picture,
  }),
  outPaintingParams: shape({
    image: must(picture),
    text: must(text),
    negativeText: text,
    maskPrompt: text,
    maskImage: picture,
    outPaintingMode: text,
  }),
  backgroundRemovalParams: shape({ image: must(picture) }),
  imageGenerationConfig: shape({
    numberOfImages: whole(1, 5),
    width: side,
    height: side,
    quality: oneOf('standard', 'premium'),
    cfgScale: decimal(1.1, 10),
    seed,
  }),
}
const stabilityFields = {
  prompt: must(text),
  negative_prompt: text,
  aspect_ratio: oneOf('1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'),
  mode: oneOf('text-to-image', 'image-to-image'),
  image: picture,
  mask: picture,
  search_prompt: text,
  strength: decimal(0, 1),
  seed,
  output_format: oneOf('png', 'jpeg', 'webp'),
}
const stabilityPrices: { readonly [name: string]: string } = { core: '0.04', ultra: '0.14', sd3: '0.08' }

function invoke(request: VendorRequest): Promise<Played> {
  // The last part of the path is a model, or an inference profile of one in a region or as an ARN.
  const last = (request.params['model'] ?? '').split('/').at(-1) ?? ''
  const from = Math.max(...['amazon.nova', 'amazon.titan', 'stability.'].map(maker => last.indexOf(maker)))
  const name = from === -1 ? undefined : last.slice(from)
  if (name === undefined) throw new Problem('not_found', 'The provided model identifier is invalid.', { status: 400 })
  return name.startsWith('amazon') ? drawNova(request, name) : drawStability(request, name)
}

type Nova = Read<typeof novaFields>

async function drawNova(request: VendorRequest, name: string): Promise<Played> {
  const read = readJson(request, novaFields, 'application/json')
  const { prompt, sent } = taskOf(read)
  const { width = 1024, height = 1024, numberOfImages: count = 1, quality } = read.imageGenerationConfig ?? {}
  if (width * height > 4_194_304) throw new Problem('invalid_value', 'The picture is larger than 4,194,304 pixels.')
  const large = width * height > 1024 * 1024
  const price = quality === 'premium' ? (large ? '0.08' : '0.06') : large ? '0.06' : '0.04'
  const order = await openOrder(request, name, prompt)
  if (order.demands.has('refused'))
    throw new Problem('moderated', 'This request has been blocked by our content filters.')
  const pixels = read.imageGenerationConfig?.width === undefined && sent?.pixels ? sent.pixels : { width, height }
  const sketches = order.draw(count, { ...pixels, format: 'png', price })
  const images = await base64Of(sketches)
  const lost = images.length < sketches.length && {
    error: 'Some of the images have been blocked by our content filters.',
  }
  return order.answer({ images, ...lost })
}

function taskOf(read: Nova): { prompt: string; sent: Sent | undefined } {
  const all = {
    TEXT_IMAGE: read.textToImageParams,
    IMAGE_VARIATION: read.imageVariationParams,
    INPAINTING: read.inPaintingParams,
    OUTPAINTING: read.outPaintingParams,
    BACKGROUND_REMOVAL: read.backgroundRemovalParams,
  }
  const params: { readonly text?: string; readonly image?: Sent } | undefined = all[read.taskType]
  const given = Object.values(all).filter(one => one !== undefined)
  if (!params || given.length > 1) throw new Problem('invalid_value', `The parameters do not fit ${read.taskType}.`)
  return { prompt: params.text ?? '', sent: params.image }
}

async function base64Of(sketches: readonly Sketch[]): Promise<string[]> {
  return eachOf(
    sketches.filter(({ failed }) => !failed),
    sketch => sketch.base64(),
  )
}

async function drawStability(request: VendorRequest, name: string): Promise<Played> {
  const read = readJson(request, stabilityFields, 'application/json')
  if (read.mode === 'image-to-image' && !read.image) throw new Problem('missing_field', 'image is required')
  const order: Order = await openOrder(request, name, read.prompt)
  const reason = order.demands.has('refused')
    ? 'Filter reason: prompt'
    : order.demands.has('moderated')
      ? 'Filter reason: output image'
      : null
  if (reason !== null) return order.answer({ seeds: [42], finish_reasons: [reason], images: [''] })
  const kind = Object.keys(stabilityPrices).find(part => name.includes(part)) ?? 'core'
  const wanted = {
    ...pixelsOf(read),
    format: read.output_format ?? ('png' as const),
    price: stabilityPrices[kind] ?? '0',
  }
  const images = await base64Of(order.draw(1, wanted))
  return order.answer({ seeds: [42], finish_reasons: [null], images })
}

function pixelsOf({ image: sent, aspect_ratio: ratio }: Read<typeof stabilityFields>): Pixels {
  if (sent?.pixels && ratio === undefined) return sent.pixels
  return ratio === undefined || ratio === '1:1' ? { width: 1024, height: 1024 } : shapeAt(ratio, 1024 * 1024, 64)
}
