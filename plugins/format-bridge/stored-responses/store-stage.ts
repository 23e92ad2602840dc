import { Failure, type Passed, type Stage } from '../../../src/plugin-api/index.ts'
import { asObject, asText, type JsonObject, parseJson } from '../neutral/index.ts'

/** The last event of a complete stream. The previous stage passes only complete events. */
const lastEvent = /^event: response\.(?:completed|incomplete)\ndata: (.*)$/m

/** The end of a stream whose response could not be stored, in the client's format. */
type LateError = (failure: Failure) => string

/**
 * Stores a response before the client gets its end. An incomplete or failed response is not stored. A response that
 * cannot be stored ends with an error.
 */
export class StoreStage implements Stage {
  readonly #lateError: LateError | undefined
  readonly #keep: (id: string, response: JsonObject) => Promise<void>

  /**
   * @param lateError for a stream; undefined for a complete response, of which the client has no byte yet
   * @param keep resolves once the response is durable; rejects with a Failure
   */
  constructor(lateError: LateError | undefined, keep: (id: string, response: JsonObject) => Promise<void>) {
    this.#lateError = lateError
    this.#keep = keep
  }

  write(chunk: Buffer): Passed | Promise<Passed> {
    const lateError = this.#lateError
    const text = chunk.toString()
    const last = lateError && lastEvent.exec(text)
    if (lateError && !last) return chunk
    const read = asObject(parseJson(last?.[1] ?? text))
    const response = last ? asObject(read?.['response']) : read
    const id = asText(response?.['id'])
    if (!response || id === undefined) return chunk
    return this.#keep(id, response).then(
      () => chunk,
      (failure: unknown) => {
        if (!last || !(failure instanceof Failure)) throw failure
        return Buffer.from(text.slice(0, last.index) + lateError(failure))
      },
    )
  }

  end(): Passed {
    return []
  }
}
