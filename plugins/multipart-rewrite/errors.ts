import { type ErrorTable, failures } from '../../src/plugin-api/index.ts'

const bad = 'invalid_request_error'
const server = 'server_error'

/** All errors of forms. */
export const errors = {
  form_boundary_invalid: {
    status: 400,
    type: bad,
    text: 'The boundary of the content type {why}. Let the client library write the content-type header of a form.',
  },
  form_malformed: { status: 400, type: bad, text: 'The form cannot be read: {where} {why}.' },
  form_incomplete: {
    status: 400,
    type: bad,
    text: 'The form ends before its closing boundary. Send the whole form.',
  },
  form_too_complex: { status: 400, type: bad, text: 'The form has {what}; at most {max} are accepted.' },
  form_field_duplicate: {
    status: 400,
    type: bad,
    text: "The field '{name}' was sent more than once. Send it once.",
  },
  form_field_not_list: {
    status: 400,
    type: bad,
    text: "The field '{name}' has the wrong name. Send it as '{wanted}'.",
  },
  form_field_is_text: {
    status: 400,
    type: bad,
    text: "The field '{name}' was sent as a file. Send it as text, without a filename.",
  },
  form_field_is_file: {
    status: 400,
    type: bad,
    text: "The field '{name}' was sent as text. Send it as a file, with a filename.",
  },
  form_text_too_long: {
    status: 400,
    type: bad,
    text: "The field '{name}' is too long; at most {max} bytes are accepted.",
  },
  form_text_undecodable: { status: 400, type: bad, text: "The field '{name}' is not valid UTF-8. Send UTF-8 text." },
  form_over_capacity: {
    status: 503,
    type: server,
    text: 'The gateway has no space left for uploads. Try again shortly.',
    operator: 'Raise `server.spool_max` or `server.memory_max`, or run more gateways.',
  },
  form_spool_failed: {
    status: 503,
    type: server,
    text: 'The upload could not be written to disk ({reason}). Try again shortly.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)
