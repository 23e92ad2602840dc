/** A message of PostgreSQL's protocol, version 3. `type` is empty for a client's first message. */
export type PgMessage = { readonly type: string; readonly bytes: Buffer }

/** Splits one side's bytes into messages (postgresql.org/docs/current/protocol-message-formats.html). */
export class PgFrames {
  #rest: Buffer = Buffer.alloc(0)
  #first: boolean

  constructor(side: 'client' | 'server') {
    this.#first = side === 'client'
  }

  push(bytes: Buffer): readonly PgMessage[] {
    const messages: PgMessage[] = []
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      const head = this.#first ? 0 : 1
      if (this.#rest.length < head + 4) return messages
      const length = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < length) return messages
      const type = this.#first ? '' : String.fromCharCode(this.#rest[0] as number)
      const message = { type, bytes: this.#rest.subarray(0, length) }
      this.#rest = this.#rest.subarray(length)
      this.#first = false
      messages.push(message)
    }
  }
}

/** Splits bytes to or from Redis into complete values (redis.io/docs/latest/develop/reference/protocol-spec). */
export class RedisFrames {
  #rest: Buffer = Buffer.alloc(0)

  push(bytes: Buffer): readonly Buffer[] {
    const values: Buffer[] = []
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (;;) {
      const end = endOfValue(this.#rest, 0)
      if (end === undefined) return values
      values.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** The end of the value that begins at `from`; undefined when it has not arrived completely. */
function endOfValue(bytes: Buffer, from: number): number | undefined {
  const line = bytes.indexOf('\r\n', from)
  if (line < 0) return undefined
  const type = String.fromCharCode(bytes[from] as number)
  const number = Number(bytes.toString('latin1', from + 1, line))
  let end: number | undefined = line + 2
  if (type === '$' && number >= 0) end += number + 2
  if (type === '*') for (let left = number; left > 0 && end !== undefined; left--) end = endOfValue(bytes, end)
  return end === undefined || end > bytes.length ? undefined : end
}

/** The words of a command. */
export function wordsOf(command: Buffer): Buffer[] {
  const words: Buffer[] = []
  let at = command.indexOf('\r\n') + 2
  while (at < command.length) {
    const line = command.indexOf('\r\n', at)
    const size = Number(command.toString('latin1', at + 1, line))
    words.push(command.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
  return words
}

export function commandOf(words: readonly Buffer[]): Buffer {
  const parts = words.flatMap(word => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')])
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts])
}
