import { parentPort, workerData } from 'node:worker_threads'
import type { Awaitable, LogFilter } from '../../kit/index.ts'
import { audit } from '../ledger/audit.ts'
import { findCharges, pageCharges } from '../ledger/find.ts'
import type { Tables } from '../tables.ts'
import { Connection } from './connect.ts'
import type { FromReader, Question, Reading, Readings, ToReader } from './messages.ts'

const { path } = workerData as { readonly path: string }
const port = parentPort
if (!port) throw new Error('the reader runs as a thread')

const connection = new Connection(path, { readOnly: true })
let lists: ReturnType<typeof loadLists> | undefined

port.on('message', (message: ToReader) => {
  if ('close' in message) {
    connection.close()
    port.close()
    return
  }
  void answer(message).then(found => port.postMessage(found))
})

async function answer({ id, reading, given }: Question): Promise<FromReader> {
  try {
    return { id, value: await answers[reading](given as never) }
  } catch (error) {
    return { id, fault: error instanceof Error ? error.message : String(error) }
  }
}

const answers: { readonly [R in Reading]: (given: Readings[R]['given']) => Awaitable<Readings[R]['gives']> } = {
  async keys(filter) {
    const { db, listKeys } = await (lists ??= loadLists())
    return listKeys(db, filter)
  },
  async trail(filter) {
    const { db, listTrail } = await (lists ??= loadLists())
    return listTrail(db, filter)
  },
  async steps({ match, stepMs }) {
    const { db, countSteps } = await (lists ??= loadLists())
    return countSteps(db, match, stepMs)
  },
  async summary(span) {
    const { db, summarize } = await (lists ??= loadLists())
    return summarize(db, span)
  },
  async usage(match) {
    const { db, sumUsage } = await (lists ??= loadLists())
    return sumUsage(db, match)
  },
  logs: listLogged,
  charges: ({ after, limit }) => connection.snapshot(pageCharges(after, limit)),
  audit: auditFile,
}

/** The lists are built with Kysely, which takes a tenth of a second to load; an audit does without. */
async function loadLists() {
  const [{ openKysely }, { listKeys }, { listTrail }, { listLogs }, sums] = await Promise.all([
    import('./kysely.ts'),
    import('../keys/list.ts'),
    import('../people/trail.ts'),
    import('../journal/list.ts'),
    import('../journal/summary.ts'),
  ])
  return { db: openKysely<Tables>(connection.db), listKeys, listTrail, listLogs, ...sums }
}

async function listLogged(filter: LogFilter) {
  const { db, listLogs } = await (lists ??= loadLists())
  const rows = await listLogs(db, filter)
  const charges = connection.run(findCharges(rows.map(row => row.id)))
  return rows.map(row => ({ row, charge: charges.get(row.id) ?? null }))
}

/** The books, and below them the file itself. */
function auditFile() {
  const books = connection.snapshot(audit())
  const problems = [...books.problems]
  for (const row of connection.all({ sql: 'PRAGMA quick_check(100)', params: [] })) {
    if (row['quick_check'] !== 'ok') problems.push(`file: ${String(row['quick_check'])}`)
  }
  return { ...books, problems }
}
