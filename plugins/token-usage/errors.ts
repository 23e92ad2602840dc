import { failures, sharedRows } from '../../src/kit/index.ts'

/** What this plugin refuses, and what would be right. */
export const errors = {
  image_tool_refused: {
    status: 400,
    type: 'invalid_request_error',
    param: 'tools',
    text: "The model '{model}' does not make images as a tool here: take image_generation out of tools, and ask for images at /v1/images/generations",
    retry: false,
  },
  upstream_usage_missing: {
    status: 502,
    type: 'server_error',
    text: 'The upstream did not say what its answer has used ({units}), so the answer was not handed out and is not charged',
    retry: false,
    operator: '`missing_usage: estimate` charges such answers instead of refusing them.',
  },
  insufficient_quota: sharedRows.insufficient_quota,
  storage_unavailable: sharedRows.storage_unavailable,
} as const

export const fail = failures(errors)
