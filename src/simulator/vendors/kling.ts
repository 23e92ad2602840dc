import { answerJson } from '../answer.ts'
import type { Call, Played, SimulatedUpstream } from '../upstream.ts'
import { decimal, image, must, oneOf, readJson, text, whole } from './fields.ts'
import type { JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { shapeAt } from './shapes.ts'

/** Kling: tasks with polls below the path of the submit; the token expires within half an hour. */
export const kling: SimulatedUpstream = openVendor({
  name: 'kling',
  words: {
    codes: {
      unauthorized: '1002',
      not_found: '1203',
      moderated: '1301',
      busy: '1303',
      broken: '5000',
      otherwise: '1201',
    },
    body: ({ code, message }) => ({ code: Number(code), message, request_id: 'simulated' }),
  },
  credential: call => bearer(call) && holdsToken(call),
  routes: {
    'POST /v1/images/generations': submit,
    'GET /v1/images/generations/{id}': poll,
  },
})

const tokenSecondsMax = 30 * 60

/** Checks that a signed token is valid now; the signature is not checked. */
function holdsToken({ headers, site }: Call): boolean {
  const [, payload = '', signature] = (headers['authorization'] ?? '').split('.')
  const now = site.now() / 1000
  try {
    const { iss, exp, nbf } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { [claim: string]: unknown }
    const lives = typeof exp === 'number' && exp > now && exp <= now + tokenSecondsMax
    return signature !== undefined && typeof iss === 'string' && lives && (nbf === undefined || Number(nbf) <= now)
  } catch {
    return false
  }
}

const picture = image('link', 'base64')
const fields = {
  model_name: oneOf('kling-v1', 'kling-v1-5', 'kling-v2', 'kling-v2-new', 'kling-v2-1', 'kling-v3'),
  prompt: must(text),
  negative_prompt: text,
  image: picture,
  image_reference: oneOf('subject', 'face'),
  image_fidelity: decimal(0, 1),
  human_fidelity: decimal(0, 1),
  resolution: oneOf('1k', '2k', '4k'),
  n: whole(1, 9),
  aspect_ratio: oneOf('16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9'),
  callback_url: text,
  external_task_id: text,
}

async function submit(request: VendorRequest): Promise<Played> {
  const read = readJson(request, fields)
  const name = read.model_name ?? 'kling-v1'
  const order = await openOrder(request, name, read.prompt)
  if (order.demands.has('refused'))
    return order.answer({ code: 1301, message: 'The prompt is sensitive.', request_id: request.id })
  const area = (1024 * Number((read.resolution ?? '1k').slice(0, -1))) ** 2
  const pixels = shapeAt(read.aspect_ratio ?? '16:9', area, 16)
  const sketches = order.sketch(read.n ?? 1, { ...pixels, format: 'png', price: '0.014' })
  const { id } = order.open(sketches, sketches)
  return order.answer(answerOf(request, id, 'waiting', {}))
}

const statuses: { readonly [state in JobState]: string } = {
  waiting: 'submitted',
  running: 'processing',
  done: 'succeed',
  failed: 'failed',
  refused: 'failed',
  moderated: 'failed',
  expired: 'failed',
  canceled: 'failed',
}

function answerOf({ id: request, site }: VendorRequest, id: string, state: JobState, more: object): object {
  const data = { task_id: id, task_status: statuses[state], created_at: site.now(), updated_at: site.now(), ...more }
  return { code: 0, message: 'SUCCEED', request_id: request, data }
}

function poll(request: VendorRequest): Played {
  const job = request.desk.jobs.find<readonly Sketch[]>(request.params['id'])
  const state = job?.poll() ?? 'expired'
  if (!job || state === 'expired') throw new Problem('not_found', 'The task does not exist.')
  if (state === 'done') {
    const images = job.about
      .filter(({ failed }) => !failed)
      .map(sketch => ({ index: sketch.index, url: sketch.link() }))
    return answerJson(200, answerOf(request, job.id, state, { task_result: { images } }))
  }
  const reason = state === 'moderated' ? 'The picture was moderated.' : state === 'failed' ? 'The task failed.' : ''
  return answerJson(200, answerOf(request, job.id, state, { task_status_msg: reason }))
}
