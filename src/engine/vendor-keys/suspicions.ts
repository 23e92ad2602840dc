import type { KeyEffect, VendorKey } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'

/** What was refused or served longer ago says nothing any more. */
const rememberedMs = 10 * 60_000
/** After so many clients were refused the same one after another, it no longer matters who they are. */
const clientsMax = 2

/** The client that uses a key, and its request. */
export type KeyUser = {
  readonly request: string
  /** The id of the client's key. */
  readonly client: string
  /** The same for two requests that say the same. Computed on the first call. */
  readonly digest: () => string
  /** What it may come to, in tokens; absent where it uses none. */
  readonly tokens?: number
  /** A key's state has changed for what it was refused: none other's does. */
  hasChanged: boolean
}

type Suspicion = {
  readonly effect: KeyEffect
  readonly hash: string
  readonly keyUser: Pick<KeyUser, 'request' | 'client'>
  readonly digest: string
  readonly at: number
}

type Served = { readonly tokens: number; readonly at: number }

/**
 * Refusals that the body of one request may have brought about. They count for a key when a second request is refused so too
 * that says something else and is ordinary: no larger than one that the upstream has served lately. What one client alone was
 * refused counts for that client: another one may try the key where no other is left.
 */
export class Suspicions {
  readonly #clock: Pick<Clock, 'now'>
  readonly #first = new Map<string, Suspicion>()
  /** The largest request that an upstream has lately served. */
  readonly #served = new Map<string, Served>()
  /** The clients that a key was refused to since it last served anybody. */
  readonly #clients = new Map<string, Set<string>>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Notes a refusal. @returns whether a different, ordinary request was refused so before */
  confirms(key: VendorKey, effect: KeyEffect, keyUser: KeyUser): boolean {
    const now = this.#clock.now()
    const first = this.#first.get(key.id)
    if (!first || first.effect !== effect || first.hash !== key.hash || !isLately(first.at, now)) {
      const { request, client } = keyUser
      this.#first.set(key.id, {
        effect,
        hash: key.hash,
        keyUser: { request, client },
        digest: keyUser.digest(),
        at: now,
      })
      return false
    }
    if (first.keyUser.request === keyUser.request || !this.#isOrdinary(key, keyUser)) return false
    return first.keyUser.client !== keyUser.client || first.digest !== keyUser.digest()
  }

  refused(key: VendorKey, { client }: KeyUser): void {
    const clients = this.#clients.get(key.id) ?? new Set()
    if (clients.size < clientsMax) clients.add(client)
    this.#clients.set(key.id, clients)
  }

  served(key: VendorKey, tokens: number | undefined): void {
    this.forget(key.id)
    if (tokens === undefined) return
    const now = this.#clock.now()
    const before = this.#served.get(key.upstream.name)
    if (!before || before.tokens <= tokens || !isLately(before.at, now))
      this.#served.set(key.upstream.name, { tokens, at: now })
  }

  forget(id: string): void {
    this.#first.delete(id)
    this.#clients.delete(id)
  }

  /** No client has found the key refused here, except at most one other. */
  isUnproved(key: VendorKey, client: string): boolean {
    const clients = this.#clients.get(key.id)
    return !clients || (clients.size < clientsMax && !clients.has(client))
  }

  #isOrdinary(key: VendorKey, { tokens }: KeyUser): boolean {
    const served = this.#served.get(key.upstream.name)
    return tokens === undefined || !served || !isLately(served.at, this.#clock.now()) || tokens <= served.tokens
  }
}

function isLately(at: number, now: number): boolean {
  return Math.abs(now - at) < rememberedMs
}
