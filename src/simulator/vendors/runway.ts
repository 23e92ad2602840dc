import { answerJson } from '../answer.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { anything, image, list, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize } from './shapes.ts'

/** Runway Gen-4 image: tasks, and the version of the API in a header. */
export const runway: SimulatedUpstream = openVendor({
  name: 'runway',
  words: {
    codes: { otherwise: 'error' },
    body: ({ message, field }) => ({ error: message, ...(field && { issues: [{ path: [field] }] }) }),
  },
  credential: bearer,
  linkMinutes: 24 * 60,
  routes: { 'POST /v1/text_to_image': submit, 'GET /v1/tasks/{id}': poll },
})

const ratios =
  '1920:1080 1080:1920 1024:1024 1360:768 1080:1080 1168:880 1440:1080 1080:1440 1808:768 2112:912 1280:720 720:1280 720:720 960:720 720:960 1680:720'.split(
    ' ',
  )
const fields = {
  model: must(oneOf('gen4_image', 'gen4_image_turbo')),
  promptText: must(text),
  ratio: must(oneOf(...ratios)),
  seed: whole(0, 4_294_967_295),
  referenceImages: list(shape({ uri: must(image('link', 'data-url')), tag: text }), 3),
  contentModeration: anything,
}

async function submit(request: VendorRequest): Promise<Played> {
  checkVersion(request)
  const read = readJson(request, fields)
  if (read.model === 'gen4_image_turbo' && !read.referenceImages?.length) {
    throw new Problem('missing_field', 'gen4_image_turbo needs referenceImages.', { field: 'referenceImages' })
  }
  const order = await openOrder(request, read.model, read.promptText)
  const pixels = parseSize(read.ratio, ':') ?? { width: 1024, height: 1024 }
  const price = read.model === 'gen4_image' ? (pixels.width * pixels.height > 1_000_000 ? '0.08' : '0.05') : '0.02'
  const sketches = order.sketch(1, { ...pixels, format: 'png', price })
  return order.answer({ id: order.open(sketches, sketches).id })
}

function checkVersion({ headers }: VendorRequest): void {
  if (headers['x-runway-version'] !== '2024-11-06')
    throw new Problem('invalid_value', 'X-Runway-Version is missing or unknown.')
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'PENDING',
  running: 'RUNNING',
  done: 'SUCCEEDED',
  failed: 'FAILED',
  refused: 'FAILED',
  moderated: 'FAILED',
  expired: 'FAILED',
  canceled: 'CANCELLED',
}
const reasons: { readonly [state in JobState]?: readonly [text: string, code: string] } = {
  failed: ['An unexpected error occurred.', 'INTERNAL.BAD_OUTPUT.CODE01'],
  refused: ['The prompt was moderated.', 'SAFETY.INPUT.TEXT'],
  moderated: ['The output was moderated.', 'SAFETY.OUTPUT.IMAGE'],
}

function poll(request: VendorRequest): Played {
  checkVersion(request)
  const job = request.desk.jobs.find<readonly Sketch[]>(request.params['id'])
  const state = job?.poll() ?? 'expired'
  if (!job || state === 'expired') throw new Problem('not_found', 'The task was not found.')
  const [failure, failureCode] = reasons[state] ?? []
  return answerJson(200, {
    id: job.id,
    status: statuses[state],
    createdAt: new Date(request.site.now()).toISOString(),
    ...(state === 'running' && { progress: 0.5 }),
    ...(state === 'done' && { output: job.about.map(sketch => sketch.link()) }),
    ...(failure !== undefined && { failure, failureCode }),
  })
}
