import type { Failure } from '../../domain/index.ts'

/** A vendor's form of errors; see `docs/wire.md#errors`. */
export type Style = {
  readonly body: (failure: Failure) => object
  /** The bytes of an error record in the middle of a stream, after `sequence` records. */
  readonly record: (failure: Failure, sequence: number) => string
}

const openaiError = ({ message, type, param, code }: Failure): object => {
  // Vendors send a code with errors of the client, and none with their own.
  return { message, type, param, code: type === 'server_error' ? null : code }
}

export const openaiStyle: Style = {
  body: failure => ({ error: openaiError(failure) }),
  record: failure => `data: ${JSON.stringify({ error: openaiError(failure) })}\n\n`,
}

export const responsesStyle: Style = {
  body: openaiStyle.body,
  record: ({ message, param, code }, sequence) =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, sequence_number: sequence })}\n\n`,
}

const anthropicTypes = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

export const anthropicStyle: Style = {
  body: ({ status, message }) => ({
    type: 'error',
    error: { type: anthropicTypes.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error'), message },
    request_id: 'simulated',
  }),
  record: failure => `event: error\ndata: ${JSON.stringify(anthropicStyle.body(failure))}\n\n`,
}

const googleStatuses = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
])

export const googleStyle: Style = {
  body: ({ status, message, retryAfterMs }) => ({
    error: {
      code: status,
      message,
      status: googleStatuses.get(status) ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
      ...(retryAfterMs !== undefined && {
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterMs / 1000}s` }],
      }),
    },
  }),
  record: failure => `data: ${JSON.stringify(googleStyle.body(failure))}\r\n\r\n`,
}

export const cohereStyle: Style = {
  body: ({ message }) => ({ message }),
  record: failure => `data: ${JSON.stringify(cohereStyle.body(failure))}\n\n`,
}

export const elevenlabsStyle: Style = {
  body: ({ code, message }) => ({ detail: { status: code, message } }),
  record: failure => JSON.stringify(elevenlabsStyle.body(failure)),
}
