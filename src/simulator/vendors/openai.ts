import { text } from '../text/upstream.ts'
import type { SimulatedUpstream } from '../upstream.ts'
import { drawEdit, drawGeneration, errorOf } from './gpt-image.ts'
import { bearer, openVendor } from './open-vendor.ts'

const images: SimulatedUpstream = openVendor({
  name: 'openai',
  words: {
    statuses: { content_type: 415 },
    codes: {
      unauthorized: 'invalid_api_key',
      unknown_field: 'unknown_parameter',
      missing_field: 'missing_required_parameter',
      not_found: 'model_not_found',
      moderated: 'moderation_blocked',
      busy: 'rate_limit_exceeded',
      broken: 'server_error',
      otherwise: 'invalid_value',
    },
    body: errorOf,
  },
  credential: bearer,
  routes: {
    'POST /v1/images/generations': request => drawGeneration(request, undefined),
    'POST /v1/images/edits': request => drawEdit(request, undefined),
  },
})

/** OpenAI: GPT Image, and text in the same formats. */
export const openai: SimulatedUpstream = { ...text, ...images }
