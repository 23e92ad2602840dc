/** Measures how long a subject keeps the event loop at a time. */
export class Meter {
  longestMs = 0

  /** Runs what the subject does without giving the loop back; of a promise only what comes before its first wait. */
  turn<T>(run: () => T): T {
    const begun = performance.now()
    try {
      return run()
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - begun)
    }
  }
}
