import { parentPort, workerData } from 'node:worker_threads'
import { runWriter } from './writer-core.ts'

if (!parentPort) throw new Error('the writer runs as a thread')
const port = parentPort
// A thread that was started ahead gets its database later.
if (workerData === undefined || workerData === null) port.once('message', start => runWriter(start, port))
else runWriter(workerData, port)
