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
  upstream_answer_untranslatable: {
    status: 502,
    type: 'server_error',
    text: 'The response of the upstream could not be translated: {reason}.',
    operator: 'Compare the response of the upstream with its API format. What was used is charged.',
  },
  upstream_stream_failed: {
    status: 502,
    type: 'server_error',
    text: 'The upstream ended its response with an error: {reason}',
    operator: 'The message is that of the upstream. What was used is charged.',
  },
} as const

export const fail = failures(errors)
