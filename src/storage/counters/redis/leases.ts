import type { LimitRequest } from '../../../domain/index.ts'
import type { Store } from './store.ts'

const renewedAtOnce = 500

type Held = { readonly tag: string; readonly key: string; readonly member: string }

/** Slots that this process holds in the store, which frees them when their lease is not renewed. */
export class Leases {
  readonly #store: Store
  readonly #held = new Map<string, Held>()

  constructor(store: Store) {
    this.#store = store
  }

  /** @param demand of slots */
  hold(demand: LimitRequest, member: string): void {
    const key = this.#store.keyOf(demand)
    this.#held.set(`${key} ${member}`, { tag: this.#store.tagOf(demand), key, member })
  }

  end(demand: LimitRequest, member: string): void {
    this.#held.delete(`${this.#store.keyOf(demand)} ${member}`)
  }

  renew(): void {
    for (const [tag, held] of Map.groupBy(this.#held.values(), one => one.tag))
      for (let from = 0; from < held.length; from += renewedAtOnce) {
        const some = held.slice(from, from + renewedAtOnce)
        const [keys, members] = [some.map(({ key }) => key), some.map(({ member }) => member)]
        void this.#store.renew(tag, keys, members)
      }
  }
}
