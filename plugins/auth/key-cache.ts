import type { BlockList } from 'node:net'
import { LRUCache } from 'lru-cache'
import {
  type Awaitable,
  type Clock,
  andThen,
  isPromise,
  type Key,
  type KeyChanges,
  type KeyStore,
  type Log,
  type Pending,
} from '../../src/plugin-api/index.ts'
import { readAddressList } from './address.ts'

const entriesMax = 10_000
const knownMs = 30_000
const unknownMs = 5_000
/** Twice a second, so that a key revoked by another process is refused within one. */
const pollMs = 500

/** A cached key. */
export type KnownKey = {
  readonly key: Key
  /** The addresses that it may be used from; null for all. */
  readonly addresses: BlockList | null
}

/** Keys by the hash of their secret (never by the secret), and hashes of unknown keys. */
export class KeyCache {
  readonly #store: KeyStore
  readonly #log: Log
  readonly #clock: Clock
  readonly #known: LRUCache<string, KnownKey>
  // A separate list: a client that invents keys may not evict the real ones.
  readonly #unknown: LRUCache<string, true>
  readonly #polls: Pending
  /** Lookups in flight since the cache was last emptied; replaced with it, so that none of them is joined or cached. */
  #waiting = new Map<string, Promise<KnownKey | undefined>>()
  #revision: number | undefined
  #ownChanges = 0
  #polling = false
  #blind = false
  #foreign = false
  #foreignUntil = 0

  constructor(store: KeyStore, clock: Clock, log: Log) {
    // lru-cache takes a start time of 0 for "no time set".
    const perf = { now: () => clock.tick() + 1 }
    this.#store = store
    this.#log = log
    this.#clock = clock
    this.#known = new LRUCache({ max: entriesMax, ttl: knownMs, ttlResolution: 0, perf })
    this.#unknown = new LRUCache({ max: entriesMax, ttl: unknownMs, ttlResolution: 0, perf })
    this.#polls = clock.every(pollMs, () => void this.poll())
  }

  /** The key whose secret has this hash. @throws errors of the store: a failed lookup is not a refusal */
  find(hash: string): Awaitable<KnownKey | undefined> {
    const changes = this.#store.ownChanges()
    if (changes !== this.#ownChanges) {
      const changed = this.#store.ownChangesSince(this.#ownChanges)
      this.#ownChanges = changes
      this.#forget(changed)
    }
    const known = this.#known.get(hash)
    if (known !== undefined || this.#unknown.has(hash)) return known
    return this.#waiting.get(hash) ?? this.#load(hash)
  }

  /**
   * Whether there are keys that another gateway created. Reads this at most every five seconds, and no more once it is
   * true.
   */
  hasForeign(): Awaitable<boolean> {
    const now = this.#clock.tick()
    if (this.#foreign || now < this.#foreignUntil) return this.#foreign
    const keep = (found: boolean): boolean => {
      this.#foreignUntil = now + unknownMs
      return (this.#foreign = found)
    }
    return andThen(this.#store.hasForeign(), keep)
  }

  /** Drops all changed keys. */
  async poll(): Promise<void> {
    if (this.#polling) return
    this.#polling = true
    try {
      const revision = await this.#store.revision()
      if (revision !== this.#revision) this.#forget(await this.#changesSince(this.#revision))
      this.#revision = revision
      this.#blind = false
    } catch (cause) {
      // A cached key stays valid for its half minute; an unavailable store accepts no revocations either.
      if (!this.#blind) this.#log.warn({ err: cause }, 'changes of API keys cannot be read')
      this.#blind = true
    } finally {
      this.#polling = false
    }
  }

  close(): void {
    this.#polls.cancel()
    this.#empty()
  }

  #load(hash: string): Awaitable<KnownKey | undefined> {
    const waiting = this.#waiting
    const found = this.#store.findByHash(hash)
    if (!isPromise(found)) return this.#keep(hash, found)
    const loading = found.then(
      key => {
        waiting.delete(hash)
        return waiting === this.#waiting ? this.#keep(hash, key) : knownKey(key)
      },
      (cause: unknown) => {
        waiting.delete(hash)
        throw cause
      },
    )
    waiting.set(hash, loading)
    return loading
  }

  #keep(hash: string, key: Key | undefined): KnownKey | undefined {
    const known = knownKey(key)
    if (known) this.#known.set(hash, known)
    else this.#unknown.set(hash, true)
    return known
  }

  #changesSince(revision: number | undefined): Awaitable<KeyChanges | undefined> {
    return revision === undefined ? undefined : this.#store.changesSince(revision)
  }

  /** Drops the changed keys; all of them if the changes are not known. Lookups in flight are not cached. */
  #forget(changed: KeyChanges | undefined): void {
    if (!changed) return this.#empty()
    const gone: string[] = []
    for (const [hash, { key }] of this.#known.entries())
      if (changed.keys.has(key.id) || changed.users.has(key.user)) gone.push(hash)
    for (const hash of gone) this.#known.delete(hash)
    this.#unknown.clear()
    this.#waiting = new Map()
  }

  #empty(): void {
    this.#known.clear()
    this.#unknown.clear()
    this.#waiting = new Map()
  }
}

function knownKey(key: Key | undefined): KnownKey | undefined {
  return key && { key, addresses: key.ips && readAddressList(key.ips) }
}
