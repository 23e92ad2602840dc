import { createHook } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { Socket } from 'node:net'

// Preloaded into a gateway that `walk.ts` measures: counts events in this process between two messages.

type Function = { readonly functionName: string; readonly ranges: readonly { readonly count: number }[] }
type Coverage = { readonly result: readonly { readonly url: string; readonly functions: readonly Function[] }[] }
/** A function with a name, and its number of calls. */
export type Called = readonly [name: string, times: number]
type Heap = { readonly profile: { readonly samples: readonly { readonly size: number }[] } }

const session = new Session()
session.connect()
let waits = { promises: 0, ticks: 0, timers: 0, writes: 0 }
const hook = createHook({
  init(_id, type) {
    if (type === 'PROMISE') waits.promises++
    else if (type === 'TickObject' || type === 'Microtask') waits.ticks++
    else if (type === 'Timeout' || type === 'Immediate') waits.timers++
  },
})
// Each is one system call, if the socket accepts the data immediately.
for (const name of ['_write', '_writev'] as const) {
  const write = Socket.prototype[name] as (...given: unknown[]) => void
  Socket.prototype[name] = function (this: Socket, ...given: unknown[]) {
    waits.writes++
    write.apply(this, given)
  }
}

const counting: { readonly [what: string]: { begin(): void; end(): object } } = {
  calls: {
    begin() {
      post('Profiler.enable')
      post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    },
    end() {
      const { result } = post('Profiler.takePreciseCoverage') as Coverage
      post('Profiler.stopPreciseCoverage')
      const files = result.filter(
        ({ url }) => /^file:.*\/(?:src|plugins)\//.test(url) && !url.includes('/node_modules/'),
      )
      return Object.fromEntries(
        files.map(({ url, functions }) => [
          url,
          functions
            .filter(({ functionName }) => functionName !== '')
            .map(({ functionName, ranges }): Called => [functionName, ranges[0]?.count ?? 0]),
        ]),
      )
    },
  },
  waits: {
    begin() {
      waits = { promises: 0, ticks: 0, timers: 0, writes: 0 }
      hook.enable()
    },
    end() {
      hook.disable()
      return waits
    },
  },
  heap: {
    begin() {
      const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true }
      post('HeapProfiler.startSampling', { samplingInterval: 1, ...collected })
    },
    end() {
      const { samples } = (post('HeapProfiler.stopSampling') as Heap).profile
      return { objects: samples.length, bytes: samples.reduce((sum, { size }) => sum + size, 0) }
    },
  },
}

function post(method: string, params: object = {}): unknown {
  let answer: unknown
  session.post(method, params, (error, result) => {
    if (error) throw new Error(`${method}: ${error.message}`)
    answer = result
  })
  return answer
}

process.on('message', ({ begin, end }: { begin?: string; end?: string }) => {
  if (begin !== undefined) counting[begin]?.begin()
  process.send?.(end === undefined ? {} : (counting[end]?.end() ?? {}))
})
process.channel?.unref()
