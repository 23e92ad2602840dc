import {
  type CompiledConfig,
  type Failure,
  failures,
  findWildcard,
  type ErrorTable,
  sharedRows,
} from '../domain/index.ts'

const bad = 'invalid_request_error'
const server = 'server_error'

/** Errors of any HTTP request. */
export const errors = {
  path_invalid: {
    status: 400,
    type: bad,
    text: 'The path or query contains invalid characters or escapes. Percent-encode it and send it again.',
  },
  not_found: { status: 404, type: bad, text: 'Unknown URL: {method} {path}. Check the method and the path.' },
  method_not_allowed: { status: 405, type: bad, text: '{path} does not support {method}. Use {allow}.' },
  connect_unsupported: {
    status: 501,
    type: bad,
    text: 'CONNECT is not supported: the gateway does not open tunnels. Send requests to it directly.',
    retry: false,
  },
  request_malformed: { status: 400, type: bad, text: 'The request is not valid HTTP/1.1 ({why}).' },
  request_too_slow: {
    status: 408,
    type: bad,
    text: 'The request headers did not arrive in time. Send the request again.',
    retry: false,
  },
  headers_too_large: {
    status: 431,
    type: bad,
    text: 'The request headers are larger than 16 KiB in total. Send fewer or shorter headers.',
  },
  chunk_extensions_too_large: {
    status: 413,
    type: bad,
    text: 'The chunk extensions of the body are larger than 16 KiB. Send chunks without extensions.',
  },
  expectation_unsupported: {
    status: 417,
    type: bad,
    text: "The Expect header is not supported, except 'Expect: 100-continue'.",
  },
  http_version_unsupported: {
    status: 505,
    type: bad,
    text: 'This HTTP version is not supported. Use HTTP/1.1 or HTTP/1.0.',
  },
  header_duplicate: { status: 400, type: bad, text: "The header '{name}' was sent more than once. Send it once." },
  header_invalid: { status: 400, type: bad, text: "The header '{name}' is invalid: {why}." },
  too_many_headers: { status: 431, type: bad, text: 'The request has more than {max} header lines. Send fewer.' },
  body_unexpected: { status: 400, type: bad, text: 'A {method} request to {path} must not have a body.' },
  body_missing: { status: 400, type: bad, text: 'A request body is required.' },
  body_too_large: {
    status: 413,
    type: bad,
    text: 'The request body is larger than the {max} that {path} accepts ({received}).',
  },
  body_incomplete: {
    status: 400,
    type: bad,
    text: 'The request body ended before it was complete. Send the whole body.',
  },
  body_too_slow: {
    status: 408,
    type: bad,
    text: 'The request body is too slow: fewer than {bytes} bytes arrived in {seconds} seconds.',
    retry: false,
  },
  unsupported_content_type: {
    status: 415,
    type: bad,
    text: '{path} accepts {wanted}, but the content type of the request is {found}.',
  },
  unsupported_content_encoding: {
    status: 415,
    type: bad,
    text: "The content-encoding '{found}' of the request body is not accepted. Send the body uncompressed, or with at most four of: {known}.",
  },
  body_undecodable: {
    status: 400,
    type: bad,
    text: 'The request body does not match its content-encoding: {why}.',
  },
  body_too_dense: {
    status: 413,
    type: bad,
    text: 'The request body expands to more than {ratio} times its compressed size. Send it uncompressed.',
  },
  invalid_json: { status: 400, type: bad, text: 'The request body is not a valid JSON object: {why} at byte {at}.' },
  duplicate_field: {
    status: 400,
    type: bad,
    text: "The field '{name}' is in the request body more than once. Send it once.",
  },
  body_too_complex: { status: 400, type: bad, text: 'The request body contains {what}; at most {max} are accepted.' },
  field_too_long: {
    status: 400,
    type: bad,
    text: "The field '{name}' has {found} bytes; at most {max} are accepted.",
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
    text: "The model '{model}' does not exist or is not available. GET /v1/models lists the available models.",
  },
  model_unpriced: {
    status: 404,
    type: bad,
    param: 'model',
    text: "The gateway has no price for the model '{model}', so the request was not sent. GET /v1/models lists the available models.",
    operator:
      'Add a row for the model to a table in `price_tables`, or set `prices` at the entry with `*`: they apply to every name without a row.',
  },
  websocket_unsupported: {
    status: 426,
    type: bad,
    text: 'WebSockets are not supported at {path}. Use HTTP: POST {path}.',
    retry: false,
  },
  websocket_wanted: {
    status: 426,
    type: bad,
    text: '{path} requires a WebSocket. Send GET with `Upgrade: websocket`.',
    retry: false,
  },
  websocket_version: {
    status: 426,
    type: bad,
    text: 'Only WebSocket version 13 is supported. Send `Sec-WebSocket-Version: 13`.',
    retry: false,
  },
  websocket_invalid: { status: 400, type: bad, text: 'The WebSocket cannot be opened: {why}.', retry: false },
  session_message: {
    status: 400,
    type: bad,
    text: 'The session was closed: {why}. Send valid WebSocket messages within the size limit of the route.',
    retry: false,
  },
  session_query: {
    status: 400,
    type: bad,
    text: 'The query of the session is invalid: {why}. Send either `model` or `intent`.',
    retry: false,
  },
  session_call: {
    status: 404,
    type: bad,
    text: "The call '{id}' does not exist for this key: calls are not made through this gateway. Open a session with `model`.",
    retry: false,
  },
  session_setup: {
    status: 400,
    type: bad,
    text: 'The first message of the session is invalid: {why}. Send a setup message that names the model.',
    retry: false,
  },
  session_setup_refused: {
    status: 400,
    type: bad,
    text: 'The upstream refused the setup of the session: {why}. Correct the setup message.',
    retry: false,
    operator:
      "If other clients get the same error, check the model's name at the upstream (`send_as`) and the vendor key.",
  },
  session_request: {
    status: 400,
    type: bad,
    text: 'The message is invalid: {why}. Send a `response.create` request as a JSON text message.',
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
    text: 'The API key already has the maximum of {max} open sessions. Close one first.',
  },
  session_ended: {
    status: 403,
    type: bad,
    text: 'An administrator ended the session. Contact the administrator of the gateway.',
    retry: false,
    operator: 'The audit log has the reason: `live_session.end`.',
  },
  session_idle: {
    status: 408,
    type: bad,
    text: 'The session was idle for {ms} ms and was closed. Open a new one.',
  },
  session_expired: {
    status: 408,
    type: bad,
    text: 'The session reached its maximum duration of {ms} ms. Open a new one.',
  },
  session_upstream_gone: {
    status: 502,
    type: server,
    text: 'The upstream closed the session ({why}). Open a new one.',
  },
  session_unmetered: {
    status: 502,
    type: server,
    text: 'The session was closed because an upstream message cannot be charged: {why}.',
    operator: 'The log has the ID of the session. If this repeats, the upstream may have changed its message format.',
  },
  session_unused: { status: 409, type: server, text: 'The session ended before this turn started.' },
  vendor_tool_refused: {
    status: 400,
    type: bad,
    param: 'tools',
    text: "The tool '{tool}' ({place}), which the upstream would run, is not allowed for the model '{model}'. Remove it from the request. The operator of the gateway can allow it in `vendor_tools` of the family '{family}'.",
    operator:
      'To allow it, add its name to `vendor_tools` of the family. Tools that the client runs (functions, shells, editors) need no entry.',
  },
  tool_repeated: {
    status: 400,
    type: bad,
    param: 'tools',
    text: "The tool at '{place}' declares its type twice ({tool}). Declare it once.",
  },
  models_not_together: sharedRows.models_not_together,
  operation_unsupported: {
    status: 400,
    type: bad,
    param: 'model',
    text: "The model '{model}' does not support {operation}. It supports {takes}.",
  },
  streaming_unsupported: {
    status: 400,
    type: bad,
    param: 'stream',
    text: "The model '{model}' does not support streaming here. Remove 'stream' from the request, or set it to false.",
  },
  object_not_found: {
    status: 404,
    type: bad,
    text: "The {kind} '{id}' does not exist for this key. Only the key that made a stored object through this gateway can use it.",
    retry: false,
    operator: 'To let every key use objects that you made at the vendor, name them in `shared_objects` of the family.',
  },
  objects_apart: {
    status: 400,
    type: bad,
    text: "'{one}' and '{other}' belong to different vendor accounts, so no request can use both. Create one of them again in the same conversation as the other.",
  },
  objects_too_many: { status: 400, type: bad, text: 'The request names more than {max} stored objects.' },
  object_unsettled: {
    status: 409,
    type: bad,
    text: "'{id}' has not ended, or its charge has not. Cancel it, or try again shortly.",
    retry: true,
  },
  object_elsewhere: {
    status: 400,
    type: bad,
    param: 'model',
    text: "The model '{model}' does not run on the upstream that has the stored objects of the request. Use the model that made them.",
    operator: 'Add the upstream that has them to `upstreams` of the model.',
  },
  operation_unoffered: {
    status: 404,
    type: bad,
    text: 'No model that your key may use supports {method} {path}.',
    operator: 'Name the operation of the route in `forward` of a family.',
  },
  object_unplanned: {
    status: 503,
    type: server,
    text: "The upstream of '{id}' is no longer configured, or does not support this request.",
    retry: false,
    operator:
      'Check that `upstreams` still has the upstream, that a model runs on it, and that `forward` of the family names the operation.',
  },
  objects_full: {
    status: 429,
    type: 'insufficient_quota',
    text: 'Your key has {count} stored objects with a total of {bytes} bytes; its group allows {max}. Delete some first.',
    retry: false,
    operator: 'Raise `stored_objects` of the group.',
  },
  object_store_unavailable: {
    status: 503,
    type: server,
    text: 'The owner of the stored objects in the request could not be checked. The request was not sent. Try again shortly.',
  },
  object_not_recorded: {
    status: 503,
    type: server,
    text: 'The stored object could not be recorded for your key, so the response was not delivered.',
    retry: false,
    operator: 'Writing to the storage failed: see the error in the log.',
  },
  upload_link_invalid: {
    status: 502,
    type: server,
    text: "The upstream's response has no valid link for the upload ({name}). Start the upload again.",
    operator: "Check that the url of the upstream leads to the vendor's API.",
  },
  over_capacity: {
    status: 503,
    type: server,
    text: 'The gateway has no memory left for request bodies. Try again shortly.',
    operator: 'Raise `server.memory_max`, or run more gateways.',
  },
  upstream_unreachable: {
    status: 502,
    type: server,
    text: 'The upstream could not be reached ({reason}). Nothing was sent to it.',
    operator:
      'Check the address of the upstream and the network with `tollgate doctor`. If the model has another upstream, it takes over.',
  },
  upstream_unsigned: {
    status: 502,
    type: server,
    text: 'The request could not be signed for the upstream ({why}). Nothing was sent to it.',
    operator:
      'Check the `with` options of the credential and the secrets that they name. The log has the reason under the request ID.',
  },
  upstream_credentials: {
    status: 502,
    type: server,
    text: "The gateway has no usable key for the upstream '{upstream}': each is refused, out of budget, suspended or without a weight. Your own key is valid, and nothing was charged. Contact the operator of the gateway.",
    retry: false,
    operator:
      '`tollgate upstreams list` shows the keys and the reasons. Add a key, pay the vendor, set a `weight`, or run `tollgate upstreams resume`.',
  },
  upstream_limited: {
    status: 429,
    type: 'requests',
    text: "Every key of the gateway for the upstream '{upstream}' has reached a limit. Nothing was charged. Try again in {seconds} s.",
    operator: 'Add a key or an upstream, or have the vendor raise its limit. `tollgate upstreams list` shows the keys.',
  },
  upstream_queue_full: {
    status: 429,
    type: 'requests',
    text: "All {max} connections to the upstream '{upstream}' are in use, and the queue is full or the request waited too long. Nothing was sent. Try again in {seconds} s.",
    operator: 'Raise `connections` or `queue` of the upstream, or limit each key with `concurrency` of its group.',
  },
  upstream_connect_timeout: {
    status: 504,
    type: server,
    text: 'The upstream did not accept a connection within {ms} ms. Nothing was sent to it.',
    operator: 'Check the network with `tollgate doctor`. `timeouts` of the upstream sets how long the gateway waits.',
  },
  upstream_timeout: {
    status: 504,
    type: server,
    text: 'The upstream did not respond within {ms} ms.',
    operator: 'For slow models, raise `timeouts` of the upstream. The vendor may have charged for the response.',
  },
  upstream_cut: {
    status: 502,
    type: server,
    text: 'The upstream closed the connection before the response was complete ({reason}).',
    operator: 'Occasional cases are network faults. If they repeat, contact the vendor with the time of the request.',
  },
  upstream_invalid: {
    status: 502,
    type: server,
    text: 'The upstream sent an invalid response: {reason}.',
    operator: "See `tollgate logs show ID`. Check that `url` is the vendor's API and not a web page.",
  },
  upstream_answer_kind: {
    status: 502,
    type: server,
    text: 'The upstream responded with {shape}, so its response was withheld. Nothing is charged until the operator has reviewed it.',
    retry: false,
    operator:
      'If the vendor does not stream this model at this path, remove the operation from `streams`. If a charge waits for review, resolve it with `tollgate ledger resolve ID`.',
  },
  job_unplanned: {
    status: 409,
    type: server,
    text: "The configuration no longer has the model '{model}' on '{upstream}', so its job cannot be polled.",
  },
  upstream_address_refused: {
    status: 502,
    type: server,
    text: "The upstream's response contains a URL that the gateway will not fetch: {url}.",
    operator:
      "`tollgate logs show ID` shows the URL. If it is the vendor's own public host, add it to `hosts` in the family's `translate`.",
  },
  upstream_answer_too_large: {
    status: 502,
    type: server,
    text: "The upstream's response is too large: {why}.",
    operator: 'Raise `answer_max` of the upstream, or have clients request smaller responses.',
  },
  deadline_exceeded: { status: 504, type: server, text: 'The response was not complete within {ms} ms.' },
  drain_deadline: {
    status: 503,
    type: server,
    text: 'The gateway stopped before the response was complete. Try again.',
  },
  draining: { status: 503, type: server, text: 'The gateway is shutting down. Try again on a new connection.' },
  internal_error: {
    status: 500,
    type: server,
    text: 'An internal error occurred in the gateway. It is logged under this request ID.',
    operator: 'Find the request ID in the log, and report the error.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)

/** The error of a model that is not offered, the same wherever one is named. */
export function modelNotFound(
  { models, wildcards }: Pick<CompiledConfig, 'models' | 'wildcards'>,
  name: string,
  place = 'model',
): Failure {
  const wildcard = models.has(name) ? undefined : findWildcard(wildcards, name)
  if (wildcard?.enabled) return fail('model_unpriced', { model: name }, { param: place })
  return fail('model_not_found', { model: name.slice(0, 120) }, { param: place })
}
