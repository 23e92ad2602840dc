import type { Passed, Stage } from '../../../src/plugin-api/index.ts'
import { asObject, asText, type JsonObject, parseJson } from '../neutral/index.ts'

/** The last event of a whole stream. The stage before hands on whole events. */
const lastEvent = /^event: response\.(?:completed|incomplete)\ndata: (.*)$/m

/** Keeps a response before the client gets the end of it. One that is cut or fails is not kept. */
export class KeepStage implements Stage {
  readonly #isStream: boolean
  readonly #keep: (id: string, response: JsonObject) => Promise<void>

  /** @param keep resolves once the response is durable */
  constructor(isStream: boolean, keep: (id: string, response: JsonObject) => Promise<void>) {
    this.#isStream = isStream
    this.#keep = keep
  }

  write(chunk: Buffer): Passed | Promise<Passed> {
    const text = chunk.toString()
    const data = this.#isStream ? lastEvent.exec(text)?.[1] : text
    const read = data === undefined ? undefined : asObject(parseJson(data))
    const response = this.#isStream ? asObject(read?.['response']) : read
    const id = asText(response?.['id'])
    return response && id !== undefined ? this.#keep(id, response).then(() => chunk) : chunk
  }

  end(): Passed {
    return []
  }
}
