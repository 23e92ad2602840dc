import type { Log } from '../../plugin-api/index.ts'
import { type Clock, OnceAMinute } from '../../util/index.ts'

const answerMs = 10_000
/** Statuses after which a request is retried (OTLP/HTTP, failures). */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Sends OTLP as JSON. Reports failures once a minute, and never throws them. */
export class Sender {
  /** Sends that did not arrive. */
  failures = 0
  readonly #endpoint: string
  readonly #headers: { readonly [name: string]: string }
  readonly #log: Log
  readonly #clock: Clock
  readonly #logged: OnceAMinute

  constructor(
    endpoint: string,
    headers: { readonly [name: string]: string },
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = clock
    this.#logged = new OnceAMinute(clock)
    this.#endpoint = endpoint.replace(/\/$/, '')
    this.#headers = headers
    this.#log = log
  }

  /** `sent`; `again` if the receiver cannot accept it now; `refused` if it never will. */
  async send(signal: 'traces' | 'metrics', body: object): Promise<'sent' | 'again' | 'refused'> {
    const limit = new AbortController()
    const late = this.#clock.after(answerMs, () => limit.abort(new Error(`no response within ${answerMs} ms`)))
    try {
      const response = await fetch(`${this.#endpoint}/v1/${signal}`, {
        method: 'POST',
        headers: { ...this.#headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'error',
        signal: limit.signal,
      })
      await response.body?.cancel()
      if (response.ok) return 'sent'
      this.#failed(signal, `status ${response.status}`)
      return passing.has(response.status) ? 'again' : 'refused'
    } catch (error) {
      this.#failed(signal, error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error))
      return 'again'
    } finally {
      late.cancel()
    }
  }

  #failed(signal: string, reason: string): void {
    this.failures++
    if (this.#logged.count(signal) > 0) this.#log.warn({ signal, reason }, 'telemetry could not be sent')
  }
}
