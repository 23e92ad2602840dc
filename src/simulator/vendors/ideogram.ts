import type { Pixels } from '../pictures/measure.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, file, list, must, oneOf, readFormOf, text, whole } from './fields.ts'
import type { Shape } from './fields.ts'
import { openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize, shapeAt } from './shapes.ts'

/** Ideogram: forms, ratios with an x, links with the resolution and with a flag that the picture is safe. */
export const ideogram: SimulatedUpstream = openVendor({
  name: 'ideogram',
  words: {
    statuses: { moderated: 422, content_type: 400 },
    codes: { otherwise: 'error' },
    body: ({ message }) => ({ error: message }),
  },
  credential: ({ headers }) => headers['api-key'] !== undefined,
  routes: {
    'POST /v1/ideogram-v3/generate': request => draw(request, third, '3.0'),
    'POST /v1/ideogram-v3/edit': request => draw(request, { ...third, image: must(file), mask: must(file) }, '3.0'),
    'POST /v1/ideogram-v3/remix': request =>
      draw(request, { ...third, image: must(file), image_weight: whole(1, 100) }, '3.0'),
    'POST /v1/ideogram-v4/generate': request => draw(request, third, '4.0'),
    'POST /v2/image/generate/ideogram-4-5': request => draw(request, newest, '4.5'),
    'POST /v2/image/precise-edit/ideogram-4-5': request => draw(request, { ...newest, image: must(file) }, '4.5'),
  },
})

const ratios = '1x3 3x1 1x2 2x1 9x16 16x9 10x16 16x10 2x3 3x2 3x4 4x3 4x5 5x4 1x1'.split(' ')
const resolutions =
  '512x1536 704x1408 736x1312 768x1344 832x1248 864x1152 1024x1024 1152x864 1248x832 1312x736 1344x768 1408x704 1536x512'.split(
    ' ',
  )
const common = {
  prompt: must(text),
  num_images: whole(1, 8),
  seed: whole(0, 2_147_483_647),
  resolution: oneOf(...resolutions),
  aspect_ratio: oneOf(...ratios),
  magic_prompt: oneOf('AUTO', 'ON', 'OFF'),
  negative_prompt: text,
  style_type: oneOf('AUTO', 'GENERAL', 'REALISTIC', 'DESIGN', 'FICTION'),
  style_codes: anything,
  character_reference_images: list(file, 1),
  'images[]': list(file, 10),
}
const third = { ...common, rendering_speed: oneOf('FLASH', 'TURBO', 'DEFAULT', 'QUALITY') }
const newest = { ...common, quality: oneOf('very_low', 'low', 'medium', 'high') }
const prices: { readonly [level: string]: string } = {
  FLASH: '0.03',
  TURBO: '0.03',
  DEFAULT: '0.06',
  QUALITY: '0.09',
  very_low: '0.01',
  low: '0.03',
  medium: '0.06',
  high: '0.10',
}

async function draw(request: VendorRequest, fields: Shape, version: string): Promise<Played> {
  const read = readFormOf(request, fields) as {
    prompt: string
    num_images?: number
    resolution?: string
    aspect_ratio?: string
    rendering_speed?: string
    quality?: string
    style_type?: string
  }
  if (read.resolution !== undefined && read.aspect_ratio !== undefined) {
    throw new Problem('invalid_value', 'resolution and aspect_ratio cannot be used together')
  }
  const order = await openOrder(request, version, read.prompt)
  if (order.demands.has('refused')) throw new Problem('moderated', 'Prompt provided failed safety check.')
  const level = read.rendering_speed ?? read.quality ?? (version === '4.5' ? 'medium' : 'DEFAULT')
  const wanted = { ...pixelsOf(read), format: 'png' as const, price: prices[level] ?? '0' }
  const unsafe = order.demands.has('moderated')
  const sketches = order.sketch(read.num_images ?? 1, wanted).map(one => ({ ...one, failed: one.failed || unsafe }))
  for (const sketch of sketches) order.make(sketch)
  const data = sketches.map(sketch => ({
    url: sketch.failed ? '' : sketch.link(),
    prompt: order.demands.text,
    resolution: `${sketch.width}x${sketch.height}`,
    is_image_safe: !sketch.failed,
    seed: 42 + sketch.index,
    style_type: read.style_type ?? 'GENERAL',
  }))
  return order.answer({ created: new Date(request.site.now()).toISOString(), data })
}

function pixelsOf({ resolution, aspect_ratio: ratio = '1x1' }: { resolution?: string; aspect_ratio?: string }): Pixels {
  return (resolution === undefined ? undefined : parseSize(resolution)) ?? shapeAt(ratio, 1024 * 1024, 32, 'x')
}
