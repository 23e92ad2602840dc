import { createHash } from 'node:crypto'
import type { Happening as HappeningOf } from './happening.ts'
import { type Process, runAs, runningProcess } from './process.ts'
import type { Random } from './random.ts'
import { isUnpacking } from './unpacking.ts'

/** The real functions, saved before they are replaced. */
const realTurn = setImmediate
const realNow = performance.now.bind(performance)

/** The start of every world: Friday noon, UTC. */
export const begin = Date.UTC(2026, 10, 20, 12)

export type Happening = HappeningOf<Process>

/** Labels of timers. */
const timers: ReadonlySet<string> = new Set(['after', 'every', 'timer', 'interval', 'sleep'])

/** The longest CPU time of a single event. */
export type Slowest = { ms: number; label: string }

/**
 * Time that advances only with events. Events due at the same time run in an order that the seed determines. `tick`
 * only grows; `wall` is the time of a wall clock, which may be set.
 */
export class Time {
  tick = 1_000
  /** The error of the wall clock, in milliseconds. */
  wrongBy = 0
  happened = 0
  slowest: Slowest = { ms: 0, label: '' }
  /** Time stops until this resolves: real servers are working. */
  quiet: (() => Promise<void>) | undefined
  readonly #random: Random
  readonly #heap: Happening[] = []
  readonly #trace = createHash('sha256')
  readonly #told: ((line: string) => void) | undefined
  #seq = 0

  constructor(random: Random, print?: (line: string) => void) {
    this.#random = random
    this.#told = print
  }

  get wall(): number {
    return begin + this.tick + this.wrongBy
  }

  /** A digest of all events so far. */
  trace(): string {
    return this.#trace.copy().digest('hex').slice(0, 16)
  }

  /** `process` is the owner; null for the world itself. */
  after(ms: number, label: string, run: () => void, process: Process | null | undefined = runningProcess()): Happening {
    const tie = this.#random.unit()
    const happening = {
      at: this.tick + Math.max(0, ms),
      tie,
      seq: this.#seq++,
      label,
      process: process ?? undefined,
      run,
      cancelled: false,
    }
    this.#push(happening)
    return happening
  }

  /** The pending events of a process, by label. */
  waitingFor(process: Process): readonly string[] {
    return this.#heap.filter(one => one.process === process && !one.cancelled).map(one => one.label)
  }

  /** Runs the next event, if it is due by `until`. */
  async step(until: number): Promise<boolean> {
    const next = this.#heap[0]
    if (!next || next.at > until) return false
    this.#pop()
    if (next.cancelled || next.process?.dead) return true
    if (next.process?.frozen) {
      next.process.missed.push(next)
      return true
    }
    this.tick = Math.max(this.tick, next.at)
    this.happened++
    const line = `${next.at.toFixed(3)} ${next.label}`
    this.#trace.update(line)
    this.#told?.(line)
    const cpu = process.threadCpuUsage()
    runAs(next.process, next.run)
    await settle()
    await this.quiet?.()
    const { user, system } = process.threadCpuUsage(cpu)
    const ms = (user + system) / 1_000
    if (ms > this.slowest.ms) this.slowest = { ms: Math.round(ms), label: next.label }
    return true
  }

  /** A process resumes: its timers first, as in Node, then the data of its connections, in order. */
  thaw(process: Process): void {
    process.frozen = false
    const isTimer = ({ label }: Happening): boolean => timers.has(label)
    const missed = process.missed.splice(0)
    const inOrder = [...missed.filter(isTimer), ...missed.filter(one => !isTimer(one))]
    for (const [i, one] of inOrder.entries()) {
      one.at = this.tick
      one.tie = i / inOrder.length - 1
      this.#push(one)
    }
  }

  /** Runs until a time, with all events due by then. */
  async runUntil(at: number): Promise<void> {
    await settle()
    while (await this.step(at));
    this.tick = Math.max(this.tick, at)
  }

  pass(ms: number): Promise<void> {
    return this.runUntil(this.tick + ms)
  }

  /** Runs until a promise settles. @throws Error when that takes longer than `mostMs`, or no event is left */
  async runFor<T>(promise: Promise<T>, mostMs = 3_600_000): Promise<T> {
    const state = { done: false }
    const finish = (): void => {
      state.done = true
    }
    promise.then(finish, finish)
    const end = this.tick + mostMs
    let idle = 0
    for (await settle(); !state.done; ) {
      if (await this.step(end)) idle = 0
      else if (++idle > 2_000) throw new Error(`it has not come about within ${mostMs} ms`)
      else await turn()
    }
    return promise
  }

  #push(one: Happening): void {
    const heap = this.#heap
    heap.push(one)
    let i = heap.length - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (isBefore(heap[parent] as Happening, heap[i] as Happening)) break
      swap(heap, i, parent)
      i = parent
    }
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (!last || heap.length === 0) return
    heap[0] = last
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2])
        if (child < heap.length && isBefore(heap[child] as Happening, heap[least] as Happening)) least = child
      if (least === i) return
      swap(heap, i, least)
      i = least
    }
  }
}

function swap(heap: Happening[], i: number, k: number): void {
  const one = heap[i] as Happening
  heap[i] = heap[k] as Happening
  heap[k] = one
}

function isBefore(a: Happening, b: Happening): boolean {
  if (a.at !== b.at) return a.at < b.at
  return a.tie !== b.tie ? a.tie < b.tie : a.seq < b.seq
}

/** One turn of Node's own loop: microtasks, ticks and immediates have run. */
function turn(): Promise<void> {
  return new Promise(resolve => realTurn(resolve))
}

/**
 * The world does not control operations on the machine: its time stops until they end, whatever their name (closing a
 * file is a `CloseReq`). It also stops for pending turns of the event loop, because the machine decides how many of
 * them pass while a thread works. It does not wait for connections of the process that runs a seed: to its parent, and
 * to real servers, which `quiet` waits for.
 */
const standing = /^(?:Pipe|TTY|TCP|Connect|Write|SimpleWrite|Shutdown|Timeout)/
const outsideMs = 20_000

function isOutside(): boolean {
  return isUnpacking() || process.getActiveResourcesInfo().some(name => !standing.test(name))
}

async function settle(): Promise<void> {
  await turn()
  if (!isOutside()) return
  const end = realNow() + outsideMs
  while (isOutside()) {
    if (realNow() > end) throw new Error(`still under way: ${process.getActiveResourcesInfo().join(', ')}`)
    await turn()
  }
  // An operation that has ended may have started another.
  await settle()
}
