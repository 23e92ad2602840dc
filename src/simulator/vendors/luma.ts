import { answerJson } from '../answer.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { decimal, flag, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Job, JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Luma Photon: a generation is a job, unless the client waits with `sync`. */
export const luma: SimulatedUpstream = openVendor({
  name: 'luma',
  words: {
    statuses: { unauthorized: 403 },
    codes: { otherwise: 'error' },
    body: ({ message }) => ({ detail: message }),
  },
  credential: bearer,
  routes: {
    'POST /dream-machine/v1/generations/image': submit,
    'GET /dream-machine/v1/generations/{id}': poll,
  },
})

const reference = shape({ url: must(image('link')), weight: decimal(0, 1) })
const fields = {
  generation_type: oneOf('image'),
  model: must(oneOf('photon-1', 'photon-flash-1')),
  prompt: must(text),
  aspect_ratio: oneOf('1:1', '16:9', '9:16', '4:3', '3:4', '21:9', '9:21'),
  format: oneOf('jpg', 'png'),
  image_ref: list(reference, 4),
  style_ref: list(reference, 1),
  character_ref: shape({ identity0: must(shape({ images: must(list(image('link'), 4)) })) }),
  modify_image_ref: reference,
  sync: flag,
  sync_timeout: whole(1, 60),
  callback_url: text,
}

type Generation = { readonly sketch: Sketch | undefined; readonly request: object; readonly model: string }

async function submit(request: VendorRequest): Promise<Played> {
  const read = readJson(request, fields)
  const order = await openOrder(request, read.model, read.prompt)
  // About two megapixels in every ratio.
  const pixels = shapeAt(read.aspect_ratio ?? '16:9', 2_000_000, 16)
  const price = read.model === 'photon-1' ? '0.015' : '0.004'
  const sketches = order.sketch(1, { ...pixels, format: read.format === 'png' ? 'png' : 'jpeg', price })
  const sent = {
    generation_type: 'image',
    model: read.model,
    prompt: read.prompt,
    aspect_ratio: read.aspect_ratio ?? '16:9',
  }
  const job = order.open<Generation>({ sketch: sketches[0], request: sent, model: read.model }, sketches)
  if (!read.sync || order.demands.has('late')) return order.answer(generationOf(request, job, 'waiting'), 201)
  const polls = Math.min(order.demands.numbers('polls')?.[0] ?? 1, 60)
  for (let i = 0; i < polls; i++) job.poll()
  return order.answer(generationOf(request, job, job.poll()), 201)
}

const states: { readonly [state in JobState]: string } = {
  waiting: 'queued',
  running: 'dreaming',
  done: 'completed',
  failed: 'failed',
  refused: 'failed',
  moderated: 'failed',
  expired: 'failed',
  canceled: 'failed',
}
const reasons: { readonly [state in JobState]?: string } = {
  failed: 'The generation failed.',
  refused: 'Prompt is not allowed because it was moderated.',
  moderated: 'The generated image was moderated.',
}

function generationOf({ site }: VendorRequest, { id, about }: Job<Generation>, state: JobState): object {
  const link = state === 'done' ? about.sketch?.link() : undefined
  return {
    id,
    generation_type: 'image',
    state: states[state],
    failure_reason: reasons[state] ?? null,
    created_at: new Date(site.now()).toISOString(),
    assets: link === undefined ? null : { image: link },
    model: about.model,
    request: about.request,
  }
}

function poll(request: VendorRequest): Played {
  const job = request.desk.jobs.find<Generation>(request.params['id'])
  const state = job?.poll()
  if (!job || state === undefined || state === 'expired') throw new Problem('not_found', 'Generation not found')
  return answerJson(200, generationOf(request, job, state))
}
