import type { AdminRequest } from './api.ts'
import { failToWait } from './errors.ts'
import { sessionUserOf } from './session-user.ts'

const retryMs = 10_000

/** Limits responses that take long: in total, and for each user, so that no user takes all of them. */
export class Semaphore {
  readonly #all: number
  readonly #each: number
  readonly #taken = new Map<string, number>()
  #open = 0

  constructor({ all, each }: { readonly all: number; readonly each: number }) {
    this.#all = all
    this.#each = each
  }

  /** Takes a slot until the client disconnects or has its response. @throws Failure busy if no slot is free */
  take(request: AdminRequest): void {
    const { name } = sessionUserOf(request).user
    const own = this.#taken.get(name) ?? 0
    if (this.#open >= this.#all || own >= this.#each) throw failToWait('busy', retryMs)
    if (request.left.aborted) return
    this.#open++
    this.#taken.set(name, own + 1)
    request.left.addEventListener('abort', () => this.#leave(name), { once: true })
  }

  #leave(name: string): void {
    this.#open--
    const own = (this.#taken.get(name) ?? 1) - 1
    if (own > 0) this.#taken.set(name, own)
    else this.#taken.delete(name)
  }
}
