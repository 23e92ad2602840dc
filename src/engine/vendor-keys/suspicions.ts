import type { KeyEffect, VendorKey } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'

/** Older refusals and successes no longer count. */
const rememberedMs = 10 * 60_000
/** After so many clients were refused one after another, it no longer matters who they are. */
const clientsMax = 2

/** The client that uses a key, and its request. */
export type KeyUser = {
  readonly request: string
  /** The id of the client's key. */
  readonly client: string
  /** Equal for two equal requests. Computed on the first call. */
  readonly digest: () => string
  /** Its estimated tokens; absent if it uses none. */
  readonly tokens?: number
  /** A key's state has changed because of its own refusals. */
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
 * Refusals that the body of one request may have caused. They count for a key when a second, different and ordinary
 * request is refused too: one no larger than one that the upstream has served recently. Refusals of one client alone
 * count for that client: another one may try the key if no other is left.
 */
export class Suspicions {
  readonly #clock: Pick<Clock, 'now'>
  readonly #first = new Map<string, Suspicion>()
  /** The largest request that an upstream has recently served. */
  readonly #served = new Map<string, Served>()
  /** The clients that a key refused since it last served one. */
  readonly #clients = new Map<string, Set<string>>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Records a refusal. @returns whether a different, ordinary request was refused before */
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

  /** No client was refused with the key here, except at most one other. */
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
