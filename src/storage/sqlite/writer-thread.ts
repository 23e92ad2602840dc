import { parentPort, workerData } from 'node:worker_threads'
import { runWriter } from './writer-core.ts'

if (!parentPort) throw new Error('the writer runs as a thread')
runWriter(workerData, parentPort)
