import { workerData } from 'node:worker_threads'
import { Connection } from './connect.ts'

const { from, to } = workerData as { readonly from: string; readonly to: string }
const connection = new Connection(from, { readOnly: true })
try {
  connection.db.prepare('VACUUM INTO ?').run(to)
} finally {
  connection.close()
}
