import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/** The part of a thread that its owner uses. */
export type StorageThread = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate'>
/** Starts the thread of a name, `writer-thread` or `reader-thread`, with its initial data. */
export type StartThread = (name: string, workerData: unknown) => StorageThread

/** A writer's thread that gets its database later. */
let spare: Worker | undefined

/**
 * Starts the thread whose file is next to this one: `.ts` here, `.js` once compiled. If the process uses a compile
 * cache on disk it enables it for the thread too, which halves its start; a thread does not inherit it.
 */
export function startThread(name: string, workerData: unknown): Worker {
  if (name === 'writer-thread' && spare) return takeSpare(spare, workerData)
  return create(name, workerData)
}

/**
 * Starts a writer's thread before its database is known: Node needs as long for that as a gateway needs to read its
 * configuration, and has another core for it. @returns a function that ends the thread, unless it is in use by then
 */
export function prepareThread(): () => Promise<void> {
  const thread = create('writer-thread', undefined)
  // The thread does not keep the process alive: it ends with a process that stops for its configuration, and a lost
  // thread is replaced by another.
  thread.unref()
  thread.once('error', forget).once('exit', forget)
  spare = thread
  return async () => {
    if (spare === thread) await thread.terminate()
  }
}

function forget(): void {
  spare = undefined
}

function takeSpare(thread: Worker, workerData: unknown): Worker {
  spare = undefined
  thread.off('error', forget).off('exit', forget)
  thread.ref()
  thread.postMessage(workerData, [])
  return thread
}

function create(name: string, workerData: unknown): Worker {
  const cache = getCompileCacheDir()
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) }
  return new Worker(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url), { workerData, env, name })
}
