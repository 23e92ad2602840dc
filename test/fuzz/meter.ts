/** Measures how long a subject blocks the event loop at a time. */
export class Meter {
  longestMs = 0

  /** Measures a synchronous run; for a promise, only the part before its first await. */
  turn<T>(run: () => T): T {
    const begun = performance.now()
    try {
      return run()
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - begun)
    }
  }
}
