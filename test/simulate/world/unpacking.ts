import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'

/** What Node's streams of `node:zlib` have beside what they say: the thread that works for one writes into `_writeState`. */
type Inside = {
  readonly _writeState: Uint32Array
  readonly _handle: { write(...args: unknown[]): unknown; onerror(...args: unknown[]): unknown } | null
}

/** No thread has written this many bytes that are left. */
const begun = 0xffff_ffff
const working = new Set<Inside>()
let isWatching = false

/**
 * Keeps watch over what threads of the pool unpack, which Node tells nobody of: time may not go on before they are through, or
 * a trace would depend on how fast they are. Once, before anything of the gateway is imported.
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
  // A thread that fails leaves the state as it is.
  const fail = handle.onerror.bind(handle)
  const onerror = (...args: unknown[]): unknown => {
    working.delete(stream)
    return fail(...args)
  }
  Object.assign(handle, { onerror })
  return stream
}

/** Whether a thread is at work, be it for a stream that nobody reads any more. */
export function isUnpacking(): boolean {
  for (const stream of working) if (stream._writeState[0] !== begun) working.delete(stream)
  return working.size > 0
}
