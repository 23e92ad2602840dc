import { t } from 'tap'

/**
 * Replaces tap's `async-hook-domain` (preload.cjs), which attributes an uncaught error to a test by a hook into every
 * promise, timer and socket. That took a tenth of a file's CPU time. tap itself knows which test is running: the error
 * belongs to that test.
 */
export class Domain {
  constructor(onerror) {
    Object.assign(this, { onerror })
  }

  destroy() {}
}

process.on('uncaughtExceptionMonitor', (error, origin) => {
  // A test that listens for such errors handles them itself.
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  // Called once, after this listener: the process continues.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
  findRunning(t).hookDomain.onerror(error, origin)
})

/** The innermost test that has begun and not ended; the file's own test when there is none. */
function findRunning(test) {
  const inner = [...(test.activeSubtests ?? [])].at(-1)
  return inner ? findRunning(inner) : test
}
