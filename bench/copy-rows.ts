import { once } from 'node:events'
import type { SQLOutputValue } from 'node:sqlite'
import type { Client, Connection, Submittable } from 'pg'

const charactersTogether = 262_144

/** A member of the driver for copying that its types lack. */
type Copies = Connection & {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

/** Sends rows to `COPY … FROM STDIN`, as text: several times as fast as statements. */
export async function copyRows(client: Client, sql: string, rows: Iterable<readonly SQLOutputValue[]>): Promise<void> {
  const copying = new Copying(sql, rows)
  client.query(copying)
  await copying.done
}

class Copying implements Submittable {
  readonly #sql: string
  readonly #rows: Iterable<readonly SQLOutputValue[]>
  readonly #end = Promise.withResolvers<void>()
  readonly done = this.#end.promise

  constructor(sql: string, rows: Iterable<readonly SQLOutputValue[]>) {
    this.#sql = sql
    this.#rows = rows
  }

  submit(connection: Connection): void {
    connection.query(this.#sql)
  }

  handleCopyInResponse(connection: Copies): void {
    void this.#send(connection).catch(error => connection.sendCopyFail(String(error)))
  }

  async #send(connection: Copies): Promise<void> {
    let text = ''
    for (const row of this.#rows) {
      text += `${row.map(toField).join('\t')}\n`
      if (text.length < charactersTogether) continue
      connection.sendCopyFromChunk(Buffer.from(text))
      text = ''
      if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain')
    }
    connection.sendCopyFromChunk(Buffer.from(text))
    connection.endCopyFrom()
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#end.resolve()
  }

  handleError(error: Error): void {
    this.#end.reject(error)
  }
}

const escapes: { readonly [character: string]: string } = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function toField(value: SQLOutputValue | undefined): string {
  if (typeof value === 'number') return String(value)
  if (value === null || value === undefined) return '\\N'
  if (value instanceof Uint8Array) return `\\\\x${Buffer.from(value).toString('hex')}`
  return String(value).replace(/[\\\t\n\r]/g, character => escapes[character] ?? character)
}
