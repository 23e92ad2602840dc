import { text } from '../text/upstream.ts'
import type { Played, SimulatedUpstream } from '../upstream.ts'
import { drawEdit, drawGeneration, errorOf } from './gpt-image.ts'
import { bearer, openVendor } from './open-vendor.ts'
import type { VendorRequest } from './open-vendor.ts'
import { Problem } from './problem.ts'

type Draw = (request: VendorRequest, deployment: string | undefined) => Promise<Played>

const images: SimulatedUpstream = openVendor({
  name: 'azure',
  words: {
    statuses: { content_type: 415 },
    codes: {
      unauthorized: '401',
      unknown_field: 'unknown_parameter',
      missing_field: 'missing_required_parameter',
      not_found: 'DeploymentNotFound',
      moderated: 'contentFilter',
      busy: '429',
      broken: 'InternalServerError',
      otherwise: 'invalid_value',
    },
    body: worded => {
      if (worded.kind === 'unauthorized') return { statusCode: 401, message: worded.message }
      const filtered = { sexual: { filtered: true, severity: 'high' } }
      const inner = { code: 'ResponsibleAIPolicyViolation', content_filter_results: filtered }
      const { error } = errorOf(worded)
      return { error: { ...error, ...(worded.kind === 'moderated' && { inner_error: inner }) } }
    },
  },
  credential: call => call.headers['api-key'] !== undefined || bearer(call),
  // Clients use the address of the resource, or the same address with /openai.
  routes: Object.fromEntries(
    ['', '/openai'].flatMap(root => [
      [`POST ${root}/deployments/{deployment}/images/generations`, byDeployment(drawGeneration)],
      [`POST ${root}/deployments/{deployment}/images/edits`, byDeployment(drawEdit)],
      [`POST ${root}/v1/images/generations`, (request: VendorRequest) => drawGeneration(request, undefined)],
      [`POST ${root}/v1/images/edits`, (request: VendorRequest) => drawEdit(request, undefined)],
    ]),
  ),
})

/** Azure: GPT Image by deployment and version of the API, or at the newer address; text at the newer address. */
export const azure: SimulatedUpstream = { ...text, ...images }

function byDeployment(draw: Draw): (request: VendorRequest) => Promise<Played> {
  return async request => {
    const version = request.query.get('api-version')
    if (version === null) throw new Problem('not_found', 'Resource not found')
    if (!/^\d{4}-\d\d-\d\d(?:-preview)?$/.test(version)) {
      throw new Problem('invalid_value', `The API version '${version}' is not supported.`)
    }
    return draw(request, request.params['deployment'])
  }
}
