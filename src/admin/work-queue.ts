import { failToWait } from './errors.ts'

const waitingMax = 20
const retryMs = 1_000

/** Runs a few expensive jobs at a time, because running requests need the memory and the processor too; others wait. */
export class WorkQueue {
  readonly #runningMax: number
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** The maximum number that ever ran at once. */
  peak = 0

  constructor(runningMax = 2) {
    this.#runningMax = runningMax
  }

  /** @throws Failure busy if too many wait */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#runningMax) {
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
