import type { Gateway } from './gateway.ts'
import { systemClock } from '../util/clock.ts'

/** What a process has to finish after an unhandled fault. */
const finishMs = 5_000

/** After an unhandled fault the process can no longer be trusted: it finishes its requests, and exits with 1. */
export function endOnFault(gateway: Pick<Gateway, 'log' | 'close'>): void {
  process.on('uncaughtException', error => {
    gateway.log.error({ stack: error.stack }, 'unhandled error: finishing requests and stopping')
    systemClock.after(finishMs, () => process.exit(1))
    const end = (): void => process.exit(1)
    gateway.close().then(end, end)
  })
}
