import { failToWait } from './errors.ts'

const runningMax = 2
const waitingMax = 20
const retryMs = 1_000

/** Runs two expensive jobs at a time, because running requests need the memory and the processor too; others wait. */
export class WorkQueue {
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** The maximum number that ever ran at once. */
  peak = 0

  /** @throws Failure busy if too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= runningMax) {
      if (this.#waiting.length >= waitingMax) throw failToWait('busy', retryMs)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    } else this.#running++
    this.peak = Math.max(this.peak, this.#running)
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
