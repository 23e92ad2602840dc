import type { Gateway } from './gateway.ts'
import { systemClock } from '../util/clock.ts'

/** The maximum time to finish requests after an unhandled error. */
const finishMs = 5_000

/** After an unhandled error, the process is unreliable: it finishes its requests, and exits with code 1. */
export function endOnFault(gateway: Pick<Gateway, 'log' | 'close'>): void {
  process.on('uncaughtException', error => {
    gateway.log.error({ stack: error.stack }, 'unhandled error: finishing requests and stopping')
    systemClock.after(finishMs, () => process.exit(1))
    const end = (): void => process.exit(1)
    gateway.close().then(end, end)
  })
}
