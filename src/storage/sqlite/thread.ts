import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/** What of a thread its owner uses. */
export type StorageThread = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate'>
/** Starts the thread of a name, `writer-thread` or `reader-thread`, with what it is given to begin with. */
export type StartThread = (name: string, workerData: unknown) => StorageThread

/**
 * Starts the thread whose file stands beside this one: `.ts` here, `.js` once compiled. Where the process keeps compiled
 * code on disk the thread does too, which halves the time it takes to start; by itself it would not.
 */
export function startThread(name: string, workerData: unknown): Worker {
  const cache = getCompileCacheDir()
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) }
  return new Worker(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url), { workerData, env, name })
}
