import { answerJson } from '../answer.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, decimal, flag, list, must, readJson, text, whole } from './fields.ts'
import type { JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'

/** Leonardo: generations with polls; the response to the submit reports the cost. */
export const leonardo: SimulatedUpstream = openVendor({
  name: 'leonardo',
  words: {
    codes: { unauthorized: 'access-denied', not_found: 'not-found', moderated: 'moderated', otherwise: 'unexpected' },
    body: ({ code, message }) => ({ error: message, path: '$', code }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: { 'POST /api/rest/v1/generations': submit, 'GET /api/rest/v1/generations/{id}': poll },
})

const fields = {
  prompt: must(text),
  negative_prompt: text,
  modelId: text,
  num_images: whole(1, 8),
  width: whole(32, 1536, 8),
  height: whole(32, 1536, 8),
  num_inference_steps: whole(10, 60),
  guidance_scale: decimal(1, 20),
  seed: whole(0, 9_999_999_998),
  alchemy: flag,
  ultra: flag,
  contrast: decimal(1, 4.5),
  presetStyle: text,
  styleUUID: text,
  enhancePrompt: flag,
  public: flag,
  init_image_id: text,
  init_strength: decimal(0.1, 0.9),
  controlnets: list(anything, 6),
}
/** Dollars per picture: eight credits. */
const price = '0.016'
const creditsEach = 8

async function submit(request: VendorRequest): Promise<Played> {
  const read = readJson(request, fields)
  const { width = 1024, height = 768, num_images: count = 4 } = read
  if (Math.max(width, height) > 768 && count > 4) throw new Problem('invalid_value', 'At most 4 images of this size.')
  const order = await openOrder(request, read.modelId ?? 'default', read.prompt)
  if (order.demands.has('refused')) throw new Problem('moderated', 'Content moderation filter: the prompt is blocked.')
  const sketches = order.sketch(count, { width, height, format: 'jpeg', price })
  const { id } = order.open({ sketches, width, height, read }, sketches)
  const credits = sketches.length * creditsEach
  const cost = { amount: String(credits), unit: 'CREDITS' }
  return order.answer({ sdGenerationJob: { generationId: id, apiCreditCost: credits, cost } })
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'PENDING',
  running: 'PENDING',
  done: 'COMPLETE',
  failed: 'FAILED',
  refused: 'FAILED',
  moderated: 'FAILED',
  expired: 'FAILED',
  canceled: 'FAILED',
}

type Generation = { readonly sketches: readonly Sketch[]; readonly width: number; readonly height: number }

function poll({ desk, params, site }: VendorRequest): Played {
  const job = desk.jobs.find<Generation>(params['id'])
  const state = job?.poll() ?? 'expired'
  if (!job || state === 'expired') return answerJson(200, { generations_by_pk: null })
  const { sketches, width, height } = job.about
  const shown = state === 'done' ? sketches.filter(({ failed }) => !failed) : []
  const images = shown.map(sketch => ({
    url: sketch.link(),
    nsfw: false,
    id: `${job.id.slice(0, -1)}${sketch.index}`,
    likeCount: 0,
    motionMP4URL: null,
    generated_image_variation_generics: [],
  }))
  const generation = {
    id: job.id,
    status: statuses[state],
    prompt: job.demands.prompt,
    imageWidth: width,
    imageHeight: height,
  }
  return answerJson(200, {
    generations_by_pk: { ...generation, createdAt: new Date(site.now()).toISOString(), generated_images: images },
  })
}
