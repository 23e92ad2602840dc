import { parentPort, workerData } from 'node:worker_threads'
import { runReader } from './reader-core.ts'

if (!parentPort) throw new Error('the reader runs as a thread')
runReader(workerData, parentPort)
