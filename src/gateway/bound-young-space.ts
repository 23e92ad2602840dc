import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** From here on neither half of the space for young objects is doubled. */
const halfBytesMax = 16 * 1024 * 1024
const own = /--(?:min|max)[-_]semi[-_]space[-_]size|--semi[-_]space[-_]growth[-_]factor/

/**
 * Keeps V8 from giving young objects as much room as it may: two times 64 MiB on a machine with memory to spare, which a
 * gateway fills with what has been garbage for long. A bound of its own could only be set before the process starts, so the
 * growth is stopped where it has come far enough, and goes on when V8 has made the space smaller meanwhile. An operator who sets a
 * size by Node's options is not interfered with.
 */
export function boundYoungSpace(): void {
  if (own.test([...process.execArgv, process.env['NODE_OPTIONS']].join(' '))) return
  let grows = true
  new PerformanceObserver(() => {
    const mayGrow = youngBytes() < 2 * halfBytesMax
    if (mayGrow === grows) return
    grows = mayGrow
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
  }).observe({ type: 'gc' })
}

/** Both halves. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
}
