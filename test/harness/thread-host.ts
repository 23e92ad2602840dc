import { type MessagePort, parentPort } from 'node:worker_threads'
import { runReader } from '../../src/storage/sqlite/reader-core.ts'
import { runWriter } from '../../src/storage/sqlite/writer-core.ts'
import type { ReaderStart, WriterStart } from '../../src/storage/sqlite/messages.ts'

type Job = { readonly port: MessagePort } & (
  | { readonly name: 'writer-thread'; readonly workerData: WriterStart }
  | { readonly name: 'reader-thread'; readonly workerData: ReaderStart }
)

parentPort?.on('message', ({ port, name, workerData }: Job) => {
  if (name === 'writer-thread') runWriter(workerData, port)
  else runReader(workerData, port)
})
