import { failures, sharedRows } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  image_tool_refused: {
    status: 400,
    type: 'invalid_request_error',
    param: 'tools',
    text: "The model '{model}' does not support image tools here. Remove '{tool}' ({place}) from the request, and request images at /v1/images/generations.",
    operator:
      'To charge these images by tiers, set `image_tools: bill` and add an `image-tier-billing` section to the family.',
    retry: false,
  },
  upstream_usage_missing: {
    status: 502,
    type: 'server_error',
    text: 'The upstream did not report the usage of its response ({units}), so the response was withheld and is not charged.',
    retry: false,
    operator: 'To charge such responses by an estimate instead, set `missing_usage: estimate`.',
  },
  unpriced: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' has no price for {what}, which the request uses. Remove it from the request.",
    retry: false,
    operator: 'Add a price for it to the model, or set `unpriced: parent` to charge it at the price of its parent.',
  },
  characters_uncounted: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' is charged by the character. Send '{field}' as a text.",
    retry: false,
  },
  background_images: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' makes images that are charged as they pass, so its requests cannot run in the background. Send the request without `{field}`.",
    retry: false,
  },
  background_unroutable: {
    status: 501,
    type: 'server_error',
    text: 'This gateway cannot charge work that ends after its response: it has no route for `{operation}`.',
    retry: false,
    operator: 'Add the route from the shipped gateway.yaml to `routes`.',
  },
  background_not_recorded: {
    status: 503,
    type: 'server_error',
    text: 'The work could not be recorded, so its response was not delivered. The charge needs manual review.',
    retry: false,
    operator: 'Writing to the storage failed: see the error in the log.',
  },
  background_timeout: {
    status: 504,
    type: 'server_error',
    text: "The upstream did not finish '{id}' in time. The charge needs manual review.",
    retry: false,
  },
  upstream_answer_gone: {
    status: 502,
    type: 'server_error',
    text: "The upstream no longer has '{id}', so its usage is unknown. The charge needs manual review.",
    retry: false,
  },
  batch_empty: { status: 400, type: 'invalid_request_error', text: 'The batch has no requests.' },
  batch_file_missing: {
    status: 400,
    type: 'invalid_request_error',
    text: '`{name}` must be the id of a file that was uploaded through this gateway.',
  },
  batch_file_unreadable: {
    status: 502,
    type: 'server_error',
    text: "The requests in '{id}' could not be checked: the upstream returned {status} for the file. No batch was created.",
  },
  batch_line_invalid: { status: 400, type: 'invalid_request_error', text: '{place} of the batch is invalid: {why}.' },
  batch_model_unavailable: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' ({place}) does not exist for this key, or does not run where the batch would. In a file, use the vendor's name of the model.",
  },
  batch_models_mixed: {
    status: 400,
    type: 'invalid_request_error',
    text: "The batch names the models '{one}' and '{other}' ({place}). Create one batch for each model.",
  },
  batch_object_unknown: {
    status: 404,
    type: 'invalid_request_error',
    text: "The {kind} '{id}', which a request of the batch names, does not exist for this key where the batch would run.",
    retry: false,
  },
  batch_path_refused: {
    status: 400,
    type: 'invalid_request_error',
    text: "Batches for '{path}' are not supported.",
  },
  batch_results_unavailable: {
    status: 502,
    type: 'server_error',
    text: "The upstream returned {status} for the results '{id}'. The gateway tries again.",
  },
  batch_tool_refused: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' does not support the tool '{tool}' ({place}) in batches.",
    operator:
      'Tools that the upstream runs have to be in `vendor_tools` of the family. Image tools cannot be used in batches.',
  },
  use_not_recorded: {
    status: 503,
    type: 'server_error',
    text: 'The usage of the charge {charge} could not be recorded yet. The gateway tries again.',
  },
  insufficient_quota: sharedRows.insufficient_quota,
  storage_unavailable: sharedRows.storage_unavailable,
} as const

export const fail = failures(errors)
