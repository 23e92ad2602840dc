import { request } from 'node:http'
import { Duplex } from 'node:stream'

/** A reader's result for the bytes of one answer. */
export type ReadAnswer = {
  /** `whole`: read to its end. `fault`: it is not valid HTTP. `cut`: the bytes ended before it did. */
  readonly end: 'whole' | 'fault' | 'cut'
  readonly status: number | undefined
  /** Names in lower case; a repeated name has its values in order. */
  readonly headers: { readonly [name: string]: readonly string[] }
  readonly body: string
  readonly interim: readonly number[]
  /** The reason of a fault. */
  readonly why?: string
}

/** One end of a connection that receives only the given bytes. */
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
    // Errors after a complete answer do not count: its end event is still to come.
    if (isComplete()) return
    const { code } = error as NodeJS.ErrnoException
    // The parser reports the early end of the bytes as an error too.
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
