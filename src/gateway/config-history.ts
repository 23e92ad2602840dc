import { secretChanges, shownTextsOf } from '../config/index.ts'
import type { ConfigCause, KeptText, CompiledConfig, Storage } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock, Pending } from '../util/index.ts'
import { describeTaken, isSameMark, markOf } from './compare-configs.ts'
import { readVersion } from './version.ts'

const retryMs = 60_000
/** The maximum number of revisions that wait for the storage. */
const waitingMax = 20
/** The maximum number of attempts, because other gateways on the storage may write at the same time. */
const triesMax = 10
/** The maximum time that a shutdown waits for the storage. */
const closeMs = 2_000

type Taken = ConfigCause & {
  readonly at: number
  readonly plan: CompiledConfig
  readonly files: readonly KeptText[]
  /** Paths of secrets that differ from the previous configuration. */
  readonly secrets: readonly string[]
}

/** Stores the configurations that took effect, without secrets, in the background. Failed writes are repeated. */
export class ConfigHistorian {
  readonly #configs: Storage['configs']
  readonly #clock: Clock
  readonly #log: Pick<Log, 'warn'>
  readonly #waiting: Taken[] = []
  #turn: Promise<void> = Promise.resolve()
  #retry: Pending | undefined
  #isClosed = false
  #hasWaited = false

  constructor({
    storage,
    clock,
    log,
  }: { readonly storage: Storage; readonly clock: Clock; readonly log: Pick<Log, 'warn'> }) {
    this.#configs = storage.configs
    this.#clock = clock
    this.#log = log
  }

  /** `before`: the previous configuration. */
  took(plan: CompiledConfig, cause: ConfigCause, before?: CompiledConfig): void {
    const secrets = before ? secretChanges(before, plan) : []
    this.#waiting.push({ ...cause, at: this.#clock.now(), plan, files: shownTextsOf(plan), secrets })
    if (this.#waiting.length > waitingMax) this.#waiting.shift()
    this.#turn = this.#turn.then(() => this.#keepAll())
  }

  /** Waits briefly for the current write; queued writes are dropped. */
  async close(): Promise<void> {
    this.#retry?.cancel()
    let limit: Pending | undefined
    const late = new Promise<void>(resolve => (limit = this.#clock.after(closeMs, resolve)))
    await Promise.race([this.#turn, late])
    limit?.cancel()
    this.#isClosed = true
    this.#retry?.cancel()
  }

  async #keepAll(): Promise<void> {
    try {
      await this.#dropOld()
      for (let taken = this.#waiting[0]; taken && !this.#isClosed; taken = this.#waiting[0]) {
        await this.#keep(taken)
        if (this.#waiting[0] === taken) this.#waiting.shift()
      }
    } catch (error) {
      if (this.#isClosed) return
      this.#hasWaited = true
      const { revision } = this.#waiting[0]?.plan ?? {}
      this.#log.warn({ err: error, revision }, 'the active configuration could not be added to the history yet')
      this.#retry?.cancel()
      this.#retry = this.#clock.after(retryMs, () => {
        this.#turn = this.#turn.then(() => this.#keepAll())
      })
    }
  }

  /** A revision that has waited too long is not recorded: later ones exist, and it would look like a return to it. */
  async #dropOld(): Promise<void> {
    if (!this.#hasWaited) return
    const [newest] = await this.#configs.list({ limit: 1 })
    this.#hasWaited = false
    if (!newest) return
    const young = this.#waiting.filter(({ at }) => at > newest.at)
    this.#waiting.splice(0, this.#waiting.length, ...young)
  }

  /** The first process writes it; all others find it and do nothing. */
  async #keep({ plan, files, secrets, at, how, by }: Taken): Promise<void> {
    const { revision, settings } = plan
    const mark = markOf(plan, files)
    const version = await readVersion()
    for (let tries = 0; tries < triesMax; tries++) {
      const newest = await this.#configs.newest()
      if (newest && isSameMark(newest.mark, mark)) return
      const before = newest && (await this.#configs.find(newest.id))
      const changes = before ? describeTaken(before, { settings, mark }, secrets) : []
      const taken = { at, how, by, revision, version, mark, files, settings, changes, changeCount: changes.length }
      if (await this.#configs.keep(taken, newest?.id ?? 0)) return
    }
    throw new Error('other gateways on this storage keep theirs without a time limit')
  }
}
