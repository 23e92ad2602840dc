import type { Host, Pending } from '../../src/plugin-api/index.ts'
import type { CachedAnswer } from './cached-answer.ts'

const everyMs = 1_000

/** The cached answers that are no longer used, as administrators have set in any gateway or on the command line. */
export class Purges {
  readonly #host: Pick<Host, 'clock' | 'log' | 'stores'>
  readonly #pending: Pending
  /** By model and key; '' means all. */
  #until = new Map<string, number>()
  #reading: Promise<void> | undefined
  /** Resolves after the first read. */
  readonly ready: Promise<void>

  constructor(host: Pick<Host, 'clock' | 'log' | 'stores'>) {
    this.#host = host
    this.ready = this.read()
    this.#pending = host.clock.every(everyMs, () => void this.read())
  }

  has({ model, keyId, askedAt }: CachedAnswer): boolean {
    const scopes = [nameOf('', ''), nameOf(model, ''), nameOf('', keyId), nameOf(model, keyId)]
    return scopes.some(scope => askedAt <= (this.#until.get(scope) ?? -1))
  }

  /** Never rejects. */
  read(): Promise<void> {
    return (this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    }))
  }

  async #readOnce(): Promise<void> {
    const { log, stores } = this.#host
    try {
      const all = await stores.answers.list()
      this.#until = new Map(all.map(({ model, keyId, at }) => [nameOf(model, keyId), at]))
    } catch (err) {
      log.warn({ err }, 'purges of the answer cache could not be read; retrying')
    }
  }

  async close(): Promise<void> {
    this.#pending.cancel()
    await this.#reading
  }
}

function nameOf(model: string, keyId: string): string {
  return JSON.stringify([model, keyId])
}
