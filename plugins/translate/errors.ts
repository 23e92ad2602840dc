import { type ErrorTable, type Failure, failures } from '../../src/plugin-api/index.ts'

export const errors = {
  picture_is_link: {
    status: 400,
    type: 'invalid_request_error',
    text: 'This model takes pictures themselves, not links to them: send {name} as a file or as a data: URL.',
  },
  picture_unreadable: {
    status: 400,
    type: 'invalid_request_error',
    text: '{name} is no picture: send a file, a data: URL, an https:// link, or an object with image_url.',
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
    text: '{name} has {found} pictures; this model takes at most {max} in one request.',
  },
  upstream_refused: {
    status: 400,
    type: 'invalid_request_error',
    text: 'The upstream refused: {message}',
    retry: false,
  },
  upstream_failed: {
    status: 502,
    type: 'server_error',
    text: 'The upstream failed: {message}',
    retry: false,
    operator:
      "The vendor's own words: `tollgate logs show ID`. Where it refuses, the request, or the account there, has to change.",
  },
  upstream_answer_undescribed: {
    status: 502,
    type: 'server_error',
    text: "The upstream's answer is none that its description covers ({shape}), so it was not handed out.",
    retry: false,
    operator: 'The vendor answers in another shape: mend the description, or add the shape to it.',
  },
  upstream_answer_unreadable: {
    status: 502,
    type: 'server_error',
    text: "The upstream's answer could not be read: {why}.",
    retry: false,
  },
  job_timeout: {
    status: 504,
    type: 'server_error',
    text: "The upstream has not finished the job '{id}' in time; a person has to decide about it.",
    retry: false,
  },
  job_unreachable: {
    status: 504,
    type: 'server_error',
    text: "The upstream did not answer for the job '{id}' when its time was over; a person has to decide about it.",
    retry: false,
  },
  upstream_busy: {
    status: 503,
    type: 'server_error',
    text: 'Too many answers are held in memory at once. Try again shortly.',
    operator: 'Run more gateways, or let fewer such requests run at once: `limits` with `concurrency`.',
  },
} as const satisfies ErrorTable

export const fail = failures(errors)

const shapes = new WeakMap<Error, string>()

/** An answer that no description covers; `shape` says what it looked like, for people. */
export function undescribed(shape: string): Failure {
  const failure = fail('upstream_answer_undescribed', { shape })
  shapes.set(failure, shape)
  return failure
}

/** What such an answer looked like. */
export function shapeOf(error: unknown): string | undefined {
  return error instanceof Error ? shapes.get(error) : undefined
}
