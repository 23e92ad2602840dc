import { t } from 'tap'

/**
 * In the place of tap's `async-hook-domain` (preload.cjs), which finds the test of an error that nothing catches by a hook into every
 * promise, timer and socket. That took a tenth of the CPU of a file. tap knows itself which test runs: such an error is that test's.
 */
export class Domain {
  constructor(onerror) {
    Object.assign(this, { onerror })
  }

  destroy() {}
}

process.on('uncaughtExceptionMonitor', (error, origin) => {
  // A test that listens for such errors deals with them itself.
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  // Called once, after this listener: the process goes on.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
  findRunning(t).hookDomain.onerror(error, origin)
})

/** The innermost test that has begun and not ended; the file's own when none has. */
function findRunning(test) {
  const inner = [...(test.activeSubtests ?? [])].at(-1)
  return inner ? findRunning(inner) : test
}
