import { type ErrorTable, type Failure, failures } from '../../src/plugin-api/index.ts'

export const errors = {
  picture_is_link: {
    status: 400,
    type: 'invalid_request_error',
    text: 'This model does not accept links to images. Send {name} as a file or as a data: URL.',
  },
  picture_unreadable: {
    status: 400,
    type: 'invalid_request_error',
    text: '{name} is not an image. Send a file, a data: URL, an https:// link, or an object with image_url.',
  },
  too_many_pictures: {
    status: 400,
    type: 'invalid_request_error',
    param: 'n',
    text: 'n must be a whole number from 1 to {max}, not {n}.',
  },
  too_many_input_pictures: {
    status: 400,
    type: 'invalid_request_error',
    text: '{name} has {found} images; this model accepts at most {max} in one request.',
  },
  upstream_refused: {
    status: 400,
    type: 'invalid_request_error',
    text: 'The upstream refused the request: {message}',
    retry: false,
  },
  upstream_failed: {
    status: 502,
    type: 'server_error',
    text: 'The upstream failed: {message}',
    retry: false,
    operator:
      "`tollgate logs show ID` shows the vendor's message. If the vendor refuses, change the request or the vendor account.",
  },
  upstream_answer_undescribed: {
    status: 502,
    type: 'server_error',
    text: "The upstream's response does not match its configured description ({shape}), so it was withheld.",
    retry: false,
    operator: 'The vendor responds in a different format. Correct the description, or add the format to it.',
  },
  upstream_answer_unreadable: {
    status: 502,
    type: 'server_error',
    text: "The upstream's response could not be read: {why}.",
    retry: false,
  },
  job_timeout: {
    status: 504,
    type: 'server_error',
    text: "The upstream did not finish the job '{id}' in time. The charge needs manual review.",
    retry: false,
  },
  job_unreachable: {
    status: 504,
    type: 'server_error',
    text: "The upstream did not return the job '{id}' before the time limit. The charge needs manual review.",
    retry: false,
  },
  upstream_busy: {
    status: 503,
    type: 'server_error',
    text: 'The gateway has no memory left for responses. Try again shortly.',
    operator: 'Run more gateways, or lower `limits` with `concurrency` for such requests.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)

const shapes = new WeakMap<Error, string>()

/** A response that no description covers; `shape` describes it for messages. */
export function undescribed(shape: string): Failure {
  const failure = fail('upstream_answer_undescribed', { shape })
  shapes.set(failure, shape)
  return failure
}

/** The shape in such an error. */
export function shapeOf(error: unknown): string | undefined {
  return error instanceof Error ? shapes.get(error) : undefined
}
