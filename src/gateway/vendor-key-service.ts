import type { Engine } from '../engine/index.ts'
import {
  keysOf,
  type KeyStatus,
  type OtherKeys,
  othersOf,
  type CompiledConfig,
  quarterMs,
  type Storage,
  type VendorKey,
} from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'

/** The interval of reading other processes' findings, and of checks for keys that are due for a probe. */
const everyMs = 5_000
/** The maximum number of failed writes that wait for another attempt; only the latest of each key is kept. */
const keptMax = 10_000

const unwritten = 'the status of upstream keys could not be stored; retrying'
const keyIsBack = 'an upstream key is active again'

type Parts = {
  readonly store: Storage['vendorKeys']
  readonly engine: () => Pick<Engine, 'vendorKeys' | 'probe' | 'running'>
  readonly clock: Clock
  readonly log: Log
}

type Spending = { readonly key: VendorKey; readonly amount: number; readonly at: number }

/**
 * Synchronizes the states of upstream keys: writes the findings of this process, reads those of others, and probes
 * refused keys without cost. Does nothing if no upstream has keys.
 */
export class VendorKeyService {
  readonly #parts: Parts
  /** States that are not yet written. */
  readonly #unwritten = new Map<string, KeyStatus>()
  readonly #spent: Spending[] = []
  /** Unwritten spending of keys without a budget: a sum for each key and quarter of an hour. */
  readonly #sums = new Map<string, Spending>()
  #writing: Promise<void> | undefined
  #looking: Promise<void> | undefined
  #watch: { cancel(): void } | undefined
  #isOver = false
  #learning: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Reads the known states of keys, before the first request. */
  async start(): Promise<void> {
    this.#watch = this.#parts.clock.every(everyMs, () => void this.look())
    await this.learn()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.#watch?.cancel()
    await this.#looking
    await this.#write()
    await this.#writeSums()
  }

  /** Reads the spending of keys with a budget in a plan, which must be known before the first request under it. */
  async prepare(plan: Pick<CompiledConfig, 'upstreams'>): Promise<void> {
    if (!keysOf(plan).some(key => key.budget)) return
    await this.#writeSums()
    await this.learn(plan)
  }

  /** Called after a change of a state in this process. */
  readonly changed = (status: KeyStatus, before: KeyStatus | undefined): void => {
    const { upstream, key, model, state, reason, code } = status
    if (state === 'active' && before?.state === 'suspended')
      this.#parts.log.info({ upstream, key, was: before.reason }, keyIsBack)
    if (state === 'cooling') this.#parts.log.warn({ upstream, key, model, reason, answer: code }, 'a key is paused')
    if (this.#unwritten.size < keptMax) this.#unwritten.set(`${upstream}/${key} ${model}`, status)
    void this.#write()
  }

  /**
   * Called after a charge of a request with a key. With a budget it is written at once, otherwise at the next interval.
   */
  spent(key: VendorKey, amount: number): void {
    const spending = { key, amount, at: this.#parts.clock.now() }
    if (!key.budget) return this.#addUp(spending)
    if (this.#spent.length < keptMax) this.#spent.push(spending)
    void this.#write()
  }

  #addUp({ key, amount, at }: Spending): void {
    const id = `${key.id} ${Math.floor(at / quarterMs)}`
    const sum = this.#sums.get(id)
    if (sum || this.#sums.size < keptMax) this.#sums.set(id, { key, at, amount: amount + (sum?.amount ?? 0) })
  }

  /** Writes pending states; failed writes are repeated. Never rejects. */
  #write(): Promise<void> {
    return (this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    }))
  }

  async #writeAll(): Promise<void> {
    const { store, log } = this.#parts
    try {
      for (const [id, status] of this.#unwritten) {
        await store.put(status, this.#othersOf(status))
        if (this.#unwritten.get(id) === status) this.#unwritten.delete(id)
      }
      for (let one = this.#spent[0]; one; one = this.#spent[0]) {
        await this.#spend(one)
        this.#spent.shift()
      }
    } catch (error) {
      log.warn({ err: error }, unwritten)
    }
  }

  /** Failed writes are repeated. Never rejects. */
  async #writeSums(): Promise<void> {
    for (const [id, sum] of this.#sums) {
      // Spending during the write is part of a new sum.
      this.#sums.delete(id)
      try {
        await this.#spend(sum)
      } catch (error) {
        this.#addUp(sum)
        this.#parts.log.warn({ err: error }, unwritten)
        return
      }
    }
  }

  async #spend({ key, ...spent }: Spending): Promise<void> {
    const named = { upstream: key.upstream.name, key: key.name }
    // It may have received a budget meanwhile.
    const budget = key.budget ?? this.#keyOf(named)?.budget
    await this.#parts.store.spend({
      ...named,
      ...spent,
      ...(budget && { bound: { budget, others: this.#othersOf(named) } }),
    })
  }

  /** Reads states, repeats failed writes, and probes keys that are due. */
  look(): Promise<void> {
    return (this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
    }))
  }

  /**
   * All keys in use of the key's upstream, including itself. The storage knows the spending of each in all processes.
   */
  #othersOf(named: Pick<KeyStatus, 'upstream' | 'key'>): OtherKeys | undefined {
    const key = this.#keyOf(named)
    return key && othersOf(this.#parts.engine().running.plan, key)
  }

  #keyOf({ upstream, key: name }: Pick<KeyStatus, 'upstream' | 'key'>): VendorKey | undefined {
    return this.#parts
      .engine()
      .running.plan.upstreams.get(upstream)
      ?.keys?.find(one => one.name === name)
  }

  get #keys(): readonly VendorKey[] {
    return keysOf(this.#parts.engine().running.plan)
  }

  async #lookOnce(): Promise<void> {
    if (this.#keys.length === 0) return
    await this.#write()
    await this.#writeSums()
    await this.learn()
    const { states } = this.#parts.engine().vendorKeys
    for (const key of this.#keys) {
      if (states.isReleased(key)) states.resume(key)
      if (!this.#isOver && states.isDue(key)) await this.#try(key)
    }
  }

  /** Applies states from other processes and people, in the order of reading. Never rejects. */
  learn(plan?: Pick<CompiledConfig, 'upstreams'>): Promise<void> {
    return (this.#learning = this.#learning.then(() => this.#learnOnce(plan ? keysOf(plan) : this.#keys)))
  }

  async #learnOnce(keys: readonly VendorKey[]): Promise<void> {
    if (keys.length === 0) return
    const { store, log, engine } = this.#parts
    const { states, budgets } = engine().vendorKeys
    try {
      for (const status of await store.list()) this.#report(status, states.learn(status))
      if (keys.some(key => key.budget)) budgets.learn(await store.spent())
    } catch (error) {
      log.warn({ err: error }, 'the status of upstream keys could not be read')
    }
  }

  /** Every process logs the findings of all processes and the decisions of people. */
  #report({ upstream, key, model, state, reason, code }: KeyStatus, before: KeyStatus | null | undefined): void {
    if (before === undefined || model !== '' || before?.state === state) return
    const { log } = this.#parts
    if (state === 'suspended') log.warn({ upstream, key, reason, answer: code }, 'an upstream key was suspended')
    else if (before?.state === 'suspended') log.info({ upstream, key, was: before.reason }, keyIsBack)
  }

  async #try(key: VendorKey): Promise<void> {
    const { engine } = this.#parts
    const { states } = engine().vendorKeys
    const found = await engine().probe(key)
    // A person may have suspended it meanwhile.
    if (!states.of(key).some(({ model, reason }) => model === '' && reason === 'invalid')) return
    if (found.result === 'good') states.resume(key)
    else if (found.result === 'unclear') states.probeFailed(key)
    else states.stays(key)
  }
}
