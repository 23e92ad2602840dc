import { request } from 'node:http'
import { Duplex } from 'node:stream'

/** What a reader makes of the bytes of one answer. */
export type ReadAnswer = {
  /** `whole`: read to its end. `fault`: it is not HTTP as it should be. `cut`: the bytes ended before it did. */
  readonly end: 'whole' | 'fault' | 'cut'
  readonly status: number | undefined
  /** Names in lower case; of one that stands more than once the values, in order. */
  readonly headers: { readonly [name: string]: readonly string[] }
  readonly body: string
  readonly interim: readonly number[]
  /** Why it is a fault. */
  readonly why?: string
}

/** One end of a connection on which only what is given is ever heard. */
export class Wire extends Duplex {
  override _read(): void {}

  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    done()
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** Reads an answer by Node's own client. */
export function readByNode(bytes: Buffer, method: string): Promise<ReadAnswer> {
  const wire = new Wire()
  const interim: number[] = []
  let status: number | undefined
  let headers: { [name: string]: string[] } = {}
  let body = ''
  let isComplete = (): boolean => false
  const { promise, resolve } = Promise.withResolvers<ReadAnswer>()
  const finish = (end: ReadAnswer['end'], why?: string): void =>
    resolve({ end, status, headers, body, interim, ...(why !== undefined && { why }) })
  const fail = (error: Error): void => {
    // What stands behind the answer is nothing that the answer could be blamed for: its end is still to be told.
    if (isComplete()) return
    const { code } = error as NodeJS.ErrnoException
    // Its parser says of the end of the bytes that it came too soon.
    if (code?.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE') finish('fault', `${code} ${error.message}`)
    else finish('cut')
  }
  const req = request({ method, host: 'x', createConnection: () => wire })
  req
    .on('error', fail)
    .on('information', ({ statusCode }) => void interim.push(statusCode))
    .on('upgrade', () => finish('fault', 'it switched protocols'))
    .on('response', res => {
      isComplete = () => res.complete
      status = res.statusCode
      headers = listOf(res.rawHeaders)
      res.setEncoding('latin1').on('data', (text: string) => {
        body += text
      })
      res.on('error', fail).on('end', () => finish('whole'))
    })
  req.end()
  setImmediate(() => {
    wire.push(bytes)
    wire.push(null)
  })
  return promise.finally(() => req.destroy())
}

function listOf(raw: readonly string[]): { [name: string]: string[] } {
  const headers: { [name: string]: string[] } = Object.create(null)
  for (let i = 0; i < raw.length; i += 2) {
    const name = String(raw[i]).toLowerCase()
    headers[name] = [...(headers[name] ?? []), String(raw[i + 1])]
  }
  return headers
}
