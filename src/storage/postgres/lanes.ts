import type { Op } from '../ops.ts'

/** More charges than can be in flight: the oldest have long ended. */
const chargesMax = 50_000

type Lane<T> = { readonly name: string; queue: T[]; isBusy: boolean }

export type LanesOptions<T> = {
  /** Lanes that run at once. */
  readonly runningMax: number
  /** Operations that a lane runs at once. */
  readonly groupMax: number
  run(group: readonly T[]): Promise<void>
}

/**
 * Queues by the row that operations change, each running one group at a time: while a group commits, the next one of
 * its lane gathers. Lanes with work take turns.
 */
export class Lanes<T> {
  readonly #options: LanesOptions<T>
  readonly #lanes = new Map<string, Lane<T>>()
  /** The key of each charge, by the charge's id. */
  readonly #keys = new Map<string, string>()
  #ready: Lane<T>[] = []
  #running = 0
  #pumping = false
  size = 0

  constructor(options: LanesOptions<T>) {
    this.#options = options
  }

  add(op: Op, one: T): void {
    const name = this.#nameFor(op)
    let lane = this.#lanes.get(name)
    if (!lane) this.#lanes.set(name, (lane = { name, queue: [], isBusy: false }))
    lane.queue.push(one)
    this.size++
    if (lane.queue.length === 1 && !lane.isBusy) this.#ready.push(lane)
    this.#pumpSoon()
  }

  /** Removes and returns all operations that have not begun. */
  takeAll(): readonly T[] {
    const all = [...this.#lanes.values()].flatMap(lane => lane.queue.splice(0))
    this.#ready = []
    this.size = 0
    for (const lane of this.#lanes.values()) if (!lane.isBusy) this.#lanes.delete(lane.name)
    return all
  }

  #nameFor(op: Op): string {
    switch (op.change) {
      case 'hold': {
        const { id, keyId } = op.given.request.facts
        this.#keys.set(id, keyId)
        if (this.#keys.size > chargesMax) this.#forgetOldest()
        return keyId
      }
      case 'line':
        return this.#keys.get(op.given.chargeId) ?? op.given.chargeId
      case 'settle':
        return this.#takeKey(op.given.settlement.id)
      case 'endEmpty':
        return this.#takeKey(op.given.id)
      default:
        return op.change
    }
  }

  /** Removes and returns the key of a charge that ends. */
  #takeKey(id: string): string {
    const key = this.#keys.get(id)
    this.#keys.delete(id)
    return key ?? id
  }

  #forgetOldest(): void {
    for (const oldest of this.#keys.keys()) return void this.#keys.delete(oldest)
  }

  #pumpSoon(): void {
    if (this.#pumping) return
    this.#pumping = true
    // The operations of one turn form one group.
    queueMicrotask(() => {
      this.#pumping = false
      this.#pump()
    })
  }

  #pump(): void {
    while (this.#running < this.#options.runningMax) {
      const lane = this.#ready.shift()
      if (!lane) return
      void this.#run(lane)
    }
  }

  async #run(lane: Lane<T>): Promise<void> {
    const group = lane.queue.splice(0, this.#options.groupMax)
    this.size -= group.length
    lane.isBusy = true
    this.#running++
    await this.#options.run(group)
    this.#running--
    lane.isBusy = false
    if (lane.queue.length > 0) this.#ready.push(lane)
    else this.#lanes.delete(lane.name)
    this.#pump()
  }
}
