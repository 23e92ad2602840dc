import { createAnswers, type Readings } from '../readings.ts'
import type { Tables } from '../tables.ts'
import { Connection } from './connect.ts'
import { openingFailure } from './failure.ts'
import type { FromReader, Port, ReadRequest, ReaderStart, ToReader } from './messages.ts'

/** Answers the queries of `port`, from its own connection, until it closes. */
export function runReader({ path }: ReaderStart, port: Port<ToReader, FromReader>): void {
  const connection = new Connection(path, { readOnly: true })
  const answers = createAnswers({
    run: steps => connection.run(steps),
    snapshot: steps => connection.snapshot(steps),
    openKysely: async () => (await import('./kysely.ts')).openKysely<Tables>(connection.db),
  })

  port.on('message', message => {
    if ('close' in message) {
      connection.close()
      port.close()
      return
    }
    void answer(message).then(found => port.postMessage(found, []))
  })

  async function answer({ id, reading, given }: ReadRequest): Promise<FromReader> {
    try {
      return { id, value: reading === 'audit' ? await auditFile(given) : await answers[reading](given as never) }
    } catch (error) {
      return { id, fault: openingFailure(error, path) ?? (error instanceof Error ? error.message : String(error)) }
    }
  }

  /** Audits the books, and the file itself. */
  async function auditFile(given: Readings['audit']['given']) {
    const books = await answers.audit(given)
    const problems = [...books.problems]
    for (const row of connection.all({ sql: 'PRAGMA quick_check(100)', params: [] })) {
      if (row['quick_check'] !== 'ok') problems.push(`file: ${String(row['quick_check'])}`)
    }
    return { ...books, problems }
  }
}
