import { failures } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  not_translatable: {
    status: 400,
    type: 'invalid_request_error',
    text: "The model '{model}' is called in another API format here, which has no equal for {what} ({field}). Remove it from the request, or call the model in the format {format}.",
    retry: false,
    operator: 'To drop such parts instead, set `on_loss: drop` for the model. See docs/translation.md.',
  },
  untranslatable_request: {
    status: 400,
    type: 'invalid_request_error',
    text: "The field '{field}' is not valid: expected {expected}.",
    retry: false,
  },
  kept_response_unknown: {
    status: 404,
    type: 'invalid_request_error',
    text: "The response '{id}' does not exist for this key, or has expired. Send the whole conversation as input.",
    retry: false,
  },
  kept_response_whole: {
    status: 400,
    type: 'invalid_request_error',
    text: "The response '{id}' has ended, and its events are not kept. Get it without `stream`.",
    retry: false,
  },
  kept_conversation_too_long: {
    status: 400,
    type: 'invalid_request_error',
    text: 'The conversation before this request has more than {responses} responses or {bytes} bytes. Send a summary of it as input.',
    retry: false,
  },
  kept_conversations_full: {
    status: 503,
    type: 'server_error',
    text: 'The gateway has no memory left for conversations. The request was not sent. Try again shortly.',
    operator: 'Raise `server.memory_max`, or run more gateways.',
  },
  kept_response_unreadable: {
    status: 500,
    type: 'server_error',
    text: "The response '{id}' is stored, but the gateway cannot decrypt it. Send the whole conversation as input.",
    retry: false,
    operator: 'The secret of format-bridge for responses has changed: add the former one to `old_secrets`.',
  },
  kept_responses_unavailable: {
    status: 503,
    type: 'server_error',
    text: 'The storage of responses is not available. The request was not sent. Try again shortly.',
  },
  kept_response_lost: {
    status: 503,
    type: 'server_error',
    text: 'The response could not be stored, so it was not delivered. Send `store: false` if it need not be.',
    retry: false,
    operator:
      'Writing to the storage failed: see the error in the log. What was used is charged if a stream had begun.',
  },
  upstream_answer_untranslatable: {
    status: 502,
    type: 'server_error',
    text: 'The response of the upstream could not be translated: {reason}.',
    retry: false,
    operator:
      'Compare the response of the upstream with its API format. What was used is charged if a stream had begun.',
  },
  upstream_stream_failed: {
    status: 502,
    type: 'server_error',
    text: 'The upstream ended its response with an error: {reason}',
    operator: 'The message is that of the upstream. What was used is charged.',
  },
} as const

export const fail = failures(errors)
