import { failures, sharedRows } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  image_tool_refused: {
    status: 400,
    type: 'invalid_request_error',
    param: 'tools',
    text: "The model '{model}' does not make images as a tool here: take '{tool}' ({place}) out of the request, and request images at /v1/images/generations",
    operator:
      'Where its images are to be charged by tiers: `image_tools: bill` and an `image-tier-billing` section in the family.',
    retry: false,
  },
  upstream_usage_missing: {
    status: 502,
    type: 'server_error',
    text: 'The upstream did not say what its answer has used ({units}), so the answer was not handed out and is not charged',
    retry: false,
    operator: '`missing_usage: estimate` charges such answers instead of refusing them.',
  },
  unpriced: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' has no price for {what}, which the request needs; leave it out",
    retry: false,
    operator: 'Add a price for it to the model, or set `unpriced: parent` to charge it as what includes it.',
  },
  insufficient_quota: sharedRows.insufficient_quota,
  storage_unavailable: sharedRows.storage_unavailable,
} as const

export const fail = failures(errors)
