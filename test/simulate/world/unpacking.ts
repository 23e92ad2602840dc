import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'

/** Undocumented members of Node's `node:zlib` streams: the thread that works for one writes into `_writeState`. */
type Inside = {
  readonly _writeState: Uint32Array
  readonly _handle: { write(...args: unknown[]): unknown; onerror(...args: unknown[]): unknown } | null
}

/** An impossible number of remaining bytes: no thread has written it. */
const begun = 0xffff_ffff
const working = new Set<Inside>()
let isWatching = false

/**
 * Watches decompression in threads of the pool, which Node does not report: time must not advance before they finish,
 * or a trace would depend on their speed. Call it once, before importing anything of the gateway.
 */
export function watchUnpacking(): void {
  if (isWatching) return
  isWatching = true
  for (const name of [
    'createGunzip',
    'createInflate',
    'createInflateRaw',
    'createBrotliDecompress',
    'createZstdDecompress',
  ] as const) {
    const create = zlib[name] as (...args: unknown[]) => unknown
    const value = (...args: unknown[]): Inside => watch(create(...args) as Inside)
    Object.defineProperty(zlib, name, { value, configurable: true, enumerable: true })
  }
  syncBuiltinESMExports()
}

function watch(stream: Inside): Inside {
  const handle = stream._handle
  if (!handle) return stream
  const write = handle.write.bind(handle)
  handle.write = (...args) => {
    stream._writeState[0] = begun
    working.add(stream)
    return write(...args)
  }
  // A thread that fails leaves the state unchanged.
  const fail = handle.onerror.bind(handle)
  const onerror = (...args: unknown[]): unknown => {
    working.delete(stream)
    return fail(...args)
  }
  Object.assign(handle, { onerror })
  return stream
}

/** Whether a thread is at work, even for a stream that is not read any more. */
export function isUnpacking(): boolean {
  for (const stream of working) if (stream._writeState[0] !== begun) working.delete(stream)
  return working.size > 0
}
