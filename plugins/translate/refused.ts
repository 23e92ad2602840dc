import { Failure } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'

/** A refusal of the upstream, with the facts for the client. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  readonly code: string | null
  readonly headers: { readonly [name: string]: string }
  /** The upstream has reported the end of a job, and will report the same each time. */
  readonly endsJob: boolean

  constructor(
    message: string,
    answer: {
      readonly status: number
      readonly code: string | null
      readonly headers?: { readonly [name: string]: string }
      readonly endsJob?: boolean
    },
  ) {
    super(message)
    this.status = answer.status
    this.code = answer.code
    this.headers = answer.headers ?? {}
    this.endsJob = answer.endsJob === true
  }

  /** The refusal concerns the client, and no other request would succeed. */
  get isFinal(): boolean {
    return [401, 402, 403, 404, 429].includes(this.status)
  }

  /** For a client whose answer has begun. */
  get failure(): Failure {
    const { message } = this
    return this.status >= 500 ? fail('upstream_failed', { message }) : fail('upstream_refused', { message })
  }

  /** The answer in the one API format that all later code reads. */
  get body(): Buffer {
    const type = this.status >= 500 ? 'server_error' : 'invalid_request_error'
    return Buffer.from(JSON.stringify({ error: { message: this.message, type, param: null, code: this.code } }))
  }
}
