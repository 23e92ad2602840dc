import type { Pixels } from '../pictures/measure.ts'
import { answerJson } from '../answer.ts'
import type { Call, Played, SimulatedUpstream } from '../upstream.ts'
import { anything, either, image, must, oneOf, readJson, shape, text, whole } from './fields.ts'
import type { Job, JobState } from './jobs.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { openOrder } from './order.ts'
import type { Sketch } from './order.ts'
import { Problem } from './problem.ts'
import { parseSize } from './shapes.ts'

/** Hunyuan: one address, the action in a header, and every refusal with status 200. */
export const tencent: SimulatedUpstream = openVendor({
  name: 'tencent',
  words: {
    statuses: {
      unauthorized: 200,
      unknown_field: 200,
      missing_field: 200,
      invalid_value: 200,
      content_type: 200,
      not_found: 200,
      moderated: 200,
    },
    codes: {
      unauthorized: 'AuthFailure.SignatureFailure',
      unknown_field: 'UnknownParameter',
      missing_field: 'MissingParameter',
      not_found: 'InvalidAction',
      moderated: 'OperationDenied.TextIllegalDetected',
      busy: 'RequestLimitExceeded',
      broken: 'InternalError',
      otherwise: 'InvalidParameterValue',
    },
    body: ({ code, message }) => ({ Response: { Error: { Code: code, Message: message }, RequestId: 'simulated' } }),
  },
  credential: isSigned,
  routes: { 'POST /': act },
})

function isSigned(call: Call): boolean {
  const parts = call.headers['authorization'] ?? ''
  const whole = ['Credential=', 'SignedHeaders=', 'Signature='].every(part => parts.includes(part))
  return bearer(call, 'TC3-HMAC-SHA256') && whole && /^\d{10}$/.test(call.headers['x-tc-timestamp'] ?? '')
}

const common = {
  Prompt: must(text),
  NegativePrompt: text,
  Style: text,
  Resolution: text,
  LogoAdd: whole(0, 1),
  LogoParam: anything,
  Seed: whole(1, 4_294_967_295),
}
const content = shape({ ImageUrl: image('link'), ImageBase64: image('base64') })
const actions: { readonly [action: string]: (request: VendorRequest) => Promise<Played> } = {
  TextToImageLite: drawAtOnce,
  SubmitHunyuanImageJob: submit,
  QueryHunyuanImageJob: poll,
}

function act(request: VendorRequest): Promise<Played> {
  const action = request.headers['x-tc-action'] ?? ''
  const version = request.headers['x-tc-version']
  if (version !== '2023-09-01')
    throw new Problem('missing_field', 'The request header X-TC-Version is missing or wrong.')
  const perform = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!perform) throw new Problem('not_found', `The action ${action} does not exist.`)
  return perform(request)
}

async function drawAtOnce(request: VendorRequest): Promise<Played> {
  const read = readJson(request, { ...common, RspImgType: oneOf('base64', 'url') })
  const order = await openOrder(request, 'lite', read.Prompt)
  if (order.demands.has('refused')) throw new Problem('moderated', 'The text is not allowed.')
  const wanted = { ...pixelsOf(read.Resolution ?? '768:768'), format: 'jpeg' as const, price: '0.007' }
  const [sketch] = order.draw(1, wanted)
  const shown = read.RspImgType === 'url' ? sketch?.link() : await sketch?.base64()
  // A string here; the response to a poll has a list.
  return order.answer({ Response: { ResultImage: shown ?? '', Seed: 42, RequestId: request.id } })
}

async function submit(request: VendorRequest): Promise<Played> {
  const read = readJson(request, {
    ...common,
    Num: whole(1, 4),
    Clarity: oneOf('x2', 'x4'),
    ContentImage: content,
    Revise: whole(0, 1),
    RspImgType: either(oneOf('base64', 'url'), text),
  })
  const { width, height } = pixelsOf(read.Resolution ?? '1024:1024')
  const factor = Number(read.Clarity?.slice(1) ?? 1)
  const order = await openOrder(request, 'job', read.Prompt)
  if (order.demands.has('refused')) throw new Problem('moderated', 'The text is not allowed.')
  const wanted = { width: width * factor, height: height * factor, format: 'jpeg' as const, price: '0.014' }
  const sketches = order.sketch(read.Num ?? 1, wanted)
  return order.answer({ Response: { JobId: order.open(sketches, sketches).id, RequestId: request.id } })
}

function pixelsOf(resolution: string): Pixels {
  const pixels = parseSize(resolution, ':')
  if (pixels && pixels.width >= 512 && pixels.width <= 2048 && pixels.height >= 512 && pixels.height <= 2048)
    return pixels
  throw new Problem('invalid_value', `The value of Resolution ${resolution} is invalid.`)
}

const codes: { readonly [state in JobState]: readonly [code: string, message: string] } = {
  waiting: ['1', 'waiting'],
  running: ['2', 'running'],
  done: ['5', 'done'],
  failed: ['4', 'failed'],
  refused: ['4', 'failed'],
  moderated: ['4', 'failed'],
  expired: ['4', 'failed'],
  canceled: ['4', 'failed'],
}

async function poll(request: VendorRequest): Promise<Played> {
  const { JobId } = readJson(request, { JobId: must(text) })
  const job: Job<readonly Sketch[]> | undefined = request.desk.jobs.find(JobId)
  const state = job?.poll() ?? 'expired'
  if (!job || state === 'expired') throw new Problem('invalid_value', 'The job does not exist.')
  const [JobStatusCode, JobStatusMsg] = codes[state]
  const response = { JobStatusCode, JobStatusMsg, RequestId: request.id }
  if (state === 'done') {
    const shown = job.about.filter(({ failed }) => !failed)
    const ResultDetails = job.about.map(({ failed }) => (failed ? 'Failed' : 'Success'))
    const ResultImage = shown.map(sketch => sketch.link())
    return answerJson(200, { Response: { ...response, JobErrorCode: '', JobErrorMsg: '', ResultImage, ResultDetails } })
  }
  const lost = JobStatusCode === '4' && {
    JobErrorCode: state === 'moderated' ? 'OperationDenied.ImageIllegalDetected' : 'FailedOperation.InnerError',
    JobErrorMsg: 'The job failed.',
  }
  return answerJson(200, { Response: { JobErrorCode: '', JobErrorMsg: '', ...response, ...lost } })
}
