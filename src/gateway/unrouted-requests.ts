import type { IncomingMessage } from 'node:http'
import type { Failure, CompiledConfig } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import { callerAddress, type Clock, OnceAMinute } from '../util/index.ts'

const segmentsMax = 4
const segmentCharsMax = 32

type Parts = {
  readonly clock: Pick<Clock, 'tick'>
  readonly log: Log
  readonly plan: () => CompiledConfig
  readonly count: (code: string | undefined, began: boolean) => void
}

/** Counts requests without a route, and logs refused ones: one per code and minute, with their number. */
export function createUnroutedLog({ clock, log, plan, count }: Parts) {
  const logged = new OnceAMinute(clock)
  function logRefusal({ code, status }: Failure, more: object): void {
    const times = logged.count(code)
    if (times > 0) log.info({ code, status, times, ...more }, 'requests were refused before routing')
  }
  return {
    unrouted(failure: Failure | undefined, { method, url = '', headers, socket }: IncomingMessage): void {
      count(failure?.code, true)
      if (!failure) return
      const { trustedProxies } = plan().server
      const address = callerAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustedProxies)
      logRefusal(failure, { method, path: shortPath(url), address })
    },
    unread(failure: Failure): void {
      count(failure.code, false)
      logRefusal(failure, {})
    },
  }
}

/** Enough to recognize the request; a longer text may be a secret. */
function shortPath(url: string): string {
  const segments = url.split('?', 1)[0]?.split('/') ?? []
  const shown = segments.slice(0, segmentsMax).map(one => (one.length > segmentCharsMax ? '…' : one))
  return [...shown, ...(segments.length > segmentsMax ? ['…'] : [])].join('/')
}
