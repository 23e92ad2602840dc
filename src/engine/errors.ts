import { type Failure, failures, type ErrorTable, sharedRows } from '../domain/index.ts'

const bad = 'invalid_request_error'
const server = 'server_error'

/** Refusals that are true of every HTTP exchange. */
export const errors = {
  path_invalid: {
    status: 400,
    type: bad,
    text: 'The path or the query holds characters or escapes that are not accepted here.',
  },
  not_found: { status: 404, type: bad, text: 'There is nothing at {method} {path}.' },
  method_not_allowed: { status: 405, type: bad, text: '{path} takes {allow}, not {method}.' },
  connect_unsupported: {
    status: 501,
    type: bad,
    text: 'No tunnels are opened here: CONNECT is not taken.',
    retry: false,
  },
  request_malformed: { status: 400, type: bad, text: 'What was sent is not a request of HTTP/1.1 ({why}).' },
  request_too_slow: { status: 408, type: bad, text: 'The request did not arrive in time.', retry: false },
  headers_too_large: { status: 431, type: bad, text: 'The header lines are larger than 16 KiB together.' },
  chunk_extensions_too_large: {
    status: 413,
    type: bad,
    text: 'The chunk extensions of the body are larger than 16 KiB.',
  },
  expectation_unsupported: { status: 417, type: bad, text: "Only 'Expect: 100-continue' is understood here." },
  http_version_unsupported: { status: 505, type: bad, text: 'Only HTTP/1.1 and HTTP/1.0 are spoken here.' },
  header_duplicate: { status: 400, type: bad, text: "The header '{name}' was sent more than once." },
  header_invalid: { status: 400, type: bad, text: "The header '{name}' is not acceptable: {why}." },
  too_many_headers: { status: 431, type: bad, text: 'More than {max} header lines were sent.' },
  body_unexpected: { status: 400, type: bad, text: 'A {method} request to {path} carries no body.' },
  body_missing: { status: 400, type: bad, text: 'A request body is required.' },
  body_too_large: {
    status: 413,
    type: bad,
    text: 'The request body is larger than the {max} that {path} accepts ({received}).',
  },
  body_incomplete: { status: 400, type: bad, text: 'The request body ended before it was complete.' },
  body_too_slow: {
    status: 408,
    type: bad,
    text: 'Of the request body fewer than {bytes} bytes came in {seconds} seconds.',
    retry: false,
  },
  unsupported_content_type: {
    status: 415,
    type: bad,
    text: "{path} takes {wanted}; the request's content type is {found}.",
  },
  unsupported_content_encoding: {
    status: 415,
    type: bad,
    text: "The content-encoding '{found}' of the request body is not accepted. Send the body as it is, or in at most four of: {known}.",
  },
  body_undecodable: {
    status: 400,
    type: bad,
    text: 'The request body is not what its content-encoding says: {why}.',
  },
  body_too_dense: {
    status: 413,
    type: bad,
    text: 'The request body comes to more than {ratio} times what was sent once its content-encoding is undone. Send it as it is.',
  },
  invalid_json: { status: 400, type: bad, text: 'The request body is not a valid JSON object: {why} at byte {at}.' },
  duplicate_field: { status: 400, type: bad, text: "The field '{name}' is in the request body more than once." },
  body_too_complex: { status: 400, type: bad, text: 'The request body holds {what}; at most {max} are accepted.' },
  field_too_long: {
    status: 400,
    type: bad,
    text: "The field '{name}' has {found} bytes; it is read here, and at most {max} are accepted.",
  },
  missing_required_parameter: { status: 400, type: bad, text: "Missing required parameter: '{name}'." },
  invalid_type: {
    status: 400,
    type: bad,
    text: "Invalid type for '{name}': expected {expected}, but got {found} instead.",
  },
  model_not_found: {
    status: 404,
    type: bad,
    param: 'model',
    text: "The model '{model}' does not exist or is not offered here. GET /v1/models lists those that are.",
  },
  websocket_unsupported: {
    status: 426,
    type: bad,
    text: 'WebSockets are not answered at {path}. Send the request by HTTP: POST {path}.',
    retry: false,
  },
  websocket_wanted: {
    status: 426,
    type: bad,
    text: '{path} is a WebSocket. Open one: GET with `Upgrade: websocket`.',
    retry: false,
  },
  websocket_version: {
    status: 426,
    type: bad,
    text: 'Only version 13 of WebSockets is spoken here. Send `Sec-WebSocket-Version: 13`.',
    retry: false,
  },
  websocket_invalid: { status: 400, type: bad, text: 'The WebSocket cannot be opened: {why}.', retry: false },
  session_message: {
    status: 400,
    type: bad,
    text: 'The session has ended, because {why}. Send messages of RFC 6455 within the limit of the route.',
    retry: false,
  },
  session_request: {
    status: 400,
    type: bad,
    text: 'The message is not answered, because {why}. Send `response.create` with a request, as JSON.',
    retry: false,
  },
  previous_response_not_found: {
    status: 404,
    type: bad,
    text: "The response '{id}' is not known on this connection. Send the whole conversation as input.",
    retry: false,
  },
  session_limit: {
    status: 429,
    type: 'rate_limit_error',
    text: 'The key has {max} sessions open, which is the most here. Close one first.',
  },
  session_idle: {
    status: 408,
    type: bad,
    text: 'The session has ended, because no message came for {ms} ms. Open a new one.',
  },
  session_expired: {
    status: 408,
    type: bad,
    text: 'The session has ended after {ms} ms, which is the longest here. Open a new one.',
  },
  session_upstream_gone: {
    status: 502,
    type: server,
    text: 'The upstream has ended the session ({why}). Open a new one.',
  },
  session_unmetered: {
    status: 502,
    type: server,
    text: 'The session has ended, because what the upstream sent cannot be charged: {why}.',
    operator: 'The log names the session. If this repeats, the upstream may have changed its messages.',
  },
  session_unused: { status: 409, type: server, text: 'The session ended before this turn began.' },
  vendor_tool_refused: {
    status: 400,
    type: bad,
    param: 'tools',
    text: "The model '{model}' is not offered with the tool '{tool}', which the upstream would run ({place}). Take it out of the request; the operator of the gateway can allow it in `vendor_tools` of the family '{family}'.",
    operator:
      'To allow it, add its name to `vendor_tools` of the family. Tools that the client runs (functions, shells, editors) need no entry.',
  },
  tool_repeated: {
    status: 400,
    type: bad,
    param: 'tools',
    text: "The tool at '{place}' says twice what it is ({tool}). Say it once.",
  },
  models_not_together: sharedRows.models_not_together,
  operation_unsupported: {
    status: 400,
    type: bad,
    param: 'model',
    text: "The model '{model}' does not take {operation}. It takes {takes}.",
  },
  streaming_unsupported: {
    status: 400,
    type: bad,
    param: 'stream',
    text: "The model '{model}' does not stream here. Send the request without 'stream', or with 'stream': false.",
  },
  over_capacity: {
    status: 503,
    type: server,
    text: 'The gateway is holding as many request bodies as it may. Try again shortly.',
    operator: 'Raise `server.memory_max`, or run more gateways.',
  },
  upstream_unreachable: {
    status: 502,
    type: server,
    text: 'The upstream could not be reached ({reason}). Nothing was sent to it.',
    operator:
      'Is its address right, and does this machine reach it? `tollgate doctor` looks. Another upstream of the model takes over where one is named.',
  },
  upstream_unsigned: {
    status: 502,
    type: server,
    text: 'The request could not be signed for the upstream ({why}). Nothing was sent to it.',
    operator:
      "Look at the credential's `with`, and whether what it signs with can be had: the log has why, under the request id.",
  },
  upstream_credentials: {
    status: 502,
    type: server,
    text: "The gateway has no usable key for the upstream '{upstream}': its keys are refused, spent, suspended or without a weight; yours is not at fault. Nothing was sold. Contact the operator of the gateway.",
    retry: false,
    operator:
      '`tollgate upstreams list` says which keys and why. Put in another, pay, give it a `weight`, or `tollgate upstreams resume`.',
  },
  upstream_limited: {
    status: 429,
    type: 'requests',
    text: "Every key of the gateway for the upstream '{upstream}' has reached a limit. Nothing was sold; try again in {seconds} s.",
    operator: 'Add a key or an upstream, or have the vendor raise its limit: `tollgate upstreams list`.',
  },
  upstream_queue_full: {
    status: 429,
    type: 'requests',
    text: "All {max} connections to the upstream '{upstream}' are in use, and as many requests wait for one as may, or this one has waited for as long as it may. Nothing was sent; try again in {seconds} s.",
    operator:
      'Raise `connections` of the upstream, or how many may wait and for how long (`queue`); bound what one key may have at once: `concurrency` of its group.',
  },
  upstream_connect_timeout: {
    status: 504,
    type: server,
    text: 'No connection to the upstream within {ms} ms. Nothing was sent to it.',
    operator: 'Does this machine reach it? `tollgate doctor` looks; `timeouts` of the upstream say how long is waited.',
  },
  upstream_timeout: {
    status: 504,
    type: server,
    text: 'The upstream did not answer within {ms} ms.',
    operator: 'Slow models need longer: raise `timeouts` of the upstream. The answer may have been sold.',
  },
  upstream_cut: {
    status: 502,
    type: server,
    text: 'The upstream broke off ({reason}).',
    operator: "Rare ones are the network's. If they repeat, contact the vendor with the time of the request.",
  },
  upstream_invalid: {
    status: 502,
    type: server,
    text: "The upstream's answer is not usable: {reason}.",
    operator: "Look at `tollgate logs show ID`. Is `url` the vendor's interface, and not a page?",
  },
  upstream_answer_kind: {
    status: 502,
    type: server,
    text: 'The upstream answered with {shape}, so its answer was not handed out. What it may have cost is for the operator to see; nothing is charged until then.',
    retry: false,
    operator:
      'Does the vendor stream this model at this path? Take the operation out of `streams` where it does not. A charge may wait for you: `tollgate ledger resolve ID`.',
  },
  job_unplanned: {
    status: 409,
    type: server,
    text: "The configuration has no model '{model}' on '{upstream}' any more, so its job cannot be polled.",
  },
  upstream_address_refused: {
    status: 502,
    type: server,
    text: "The upstream's answer names an address that is not allowed: {url}.",
    operator:
      "`tollgate logs show ID` has the address. Is it the vendor's own, and public? Then name it under `hosts` in the family's `translate`.",
  },
  upstream_answer_too_large: {
    status: 502,
    type: server,
    text: "The upstream's answer is larger than is taken from it: {why}.",
    operator: 'Raise `answer_max` of the upstream, or have callers request fewer or smaller pictures.',
  },
  deadline_exceeded: { status: 504, type: server, text: 'The answer was not complete within {ms} ms.' },
  drain_deadline: {
    status: 503,
    type: server,
    text: 'The gateway had to stop before the answer was complete.',
  },
  draining: { status: 503, type: server, text: 'The gateway is shutting down. Try again; another one will answer.' },
  internal_error: {
    status: 500,
    type: server,
    text: 'Something went wrong in the gateway. It has been logged under this request id.',
    operator: 'Look in the log under the request id, and report it.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)

/** The refusal of a model that is not offered, the same wherever one is named. */
export function modelNotFound(name: string, place = 'model'): Failure {
  return fail('model_not_found', { model: name.slice(0, 120) }, { param: place })
}
