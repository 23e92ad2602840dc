import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** From this size on, the halves of the young space are not doubled. */
const halfBytesMax = 16 * 1024 * 1024
const own = /--(?:min|max)[-_]semi[-_]space[-_]size|--semi[-_]space[-_]growth[-_]factor/

/**
 * Configures V8 for objects that live as long as a request.
 *
 * Limits the growth of the space for young objects. It would grow to two times 64 MiB on a machine with free memory,
 * and a gateway would fill that with garbage. A maximum can only be set before the process starts, so growth is stopped
 * at this size, and allowed again if V8 has shrunk the space meanwhile. A size from an operator in Node's options is
 * respected.
 *
 * Prevents the creation of objects in the space for old ones. V8 creates them there at places in the code whose earlier
 * objects have survived. If such an object belongs to a request, all objects of the request survive until a major
 * collection. About one process in four entered that state, and then needed 1.4 times the CPU (`docs/performance.md`).
 */
export function tuneHeap(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  if (own.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '))) return
  let grows = true
  new PerformanceObserver(() => {
    const mayGrow = youngBytes() < 2 * halfBytesMax
    if (mayGrow === grows) return
    grows = mayGrow
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
  }).observe({ type: 'gc' })
}

/** The bytes of both halves. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
}
