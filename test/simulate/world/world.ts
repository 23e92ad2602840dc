import type { Clock, Connect } from '../../../src/index.ts'
import { type Process, runAs } from './process.ts'
import { Random } from './random.ts'
import { connectPair, failure, type SimSocket, type Wires } from './sockets.ts'
import { FaultyDisk, installDisk } from './storage.ts'
import { watchUnpacking } from './unpacking.ts'
import { type Happening, Time } from './time.ts'

/** How a host accepts connections; undefined if nothing listens. */
export type Door = {
  /** `refused` immediately; `late` after seconds; `never`: neither an answer nor a refusal. */
  readonly state: 'open' | 'refused' | 'late' | 'never'
  accept(socket: SimSocket): void
}

/** Everything around a gateway: time, randomness, the network, the disk. One per process. */
export class World {
  readonly seed: number
  readonly random: Random
  readonly time: Time
  readonly disk: FaultyDisk
  /** How a power loss affects the disk, and when it occurs. */
  readonly power: Random
  readonly wires: Wires
  /** How often each fault was injected, and each state reached. */
  readonly marks: { [name: string]: number } = {}
  readonly #doors = new Map<string, () => Door>()

  constructor(seed: number, print?: (line: string) => void) {
    this.seed = seed
    this.random = new Random(seed, 'world')
    this.time = new Time(new Random(seed, 'ties'), print)
    this.disk = new FaultyDisk(new Random(seed, 'disk'), fault => this.mark(`fault: ${fault}`))
    this.power = new Random(seed, 'power')
    this.disk.checkpointEvery = this.power.pick([undefined, 4, 16, 64])
    this.wires = { time: this.time, random: new Random(seed, 'wires'), lag: { share: 0.05, mostMs: 400 } }
  }

  /**
   * Replaces the parts of this process that are not passed to a gateway, or those of the previous world: its disk.
   * Everything else is passed in: clock, random numbers, connections and threads (test/house/seams.test.ts). Not
   * simulated: `Date` headers of Node's server, whose clock is inside of Node; all of them have the same length.
   */
  install(): void {
    installDisk(this.disk)
    watchUnpacking()
  }

  mark(name: string): void {
    this.marks[name] = (this.marks[name] ?? 0) + 1
  }

  serve(host: string, door: () => Door): void {
    this.#doors.set(host, door)
  }

  /** The parts that a gateway receives. */
  readonly clock: Clock = {
    now: () => Math.floor(this.time.wall),
    tick: () => this.time.tick,
    after: (ms, run) => {
      const happening = this.time.after(Math.max(1, ms), 'after', run)
      return { cancel: () => (happening.cancelled = true) }
    },
    every: (ms, run) => {
      let next: Happening
      const arm = (): Happening =>
        this.time.after(Math.max(1, ms), 'every', () => {
          next = arm()
          run()
        })
      next = arm()
      return { cancel: () => (next.cancelled = true) }
    },
    sleep: (ms, signal) =>
      new Promise(resolve => {
        if (signal?.aborted) return resolve()
        const happening = this.time.after(Math.max(1, ms), 'sleep', resolve)
        const wake = (): void => {
          happening.cancelled = true
          resolve()
        }
        signal?.addEventListener('abort', wake, { once: true })
      }),
  }

  /** Connections to upstreams, for a gateway. */
  readonly connect: Connect = ({ host, port }, timeoutMs) =>
    new Promise((resolve, reject) => {
      const socket = this.#connect(host, port)
      const limit = this.time.after(timeoutMs, `connect ${host}:${port} too late`, () => {
        socket.destroy()
        reject(failure('ETIMEDOUT'))
      })
      const settle = (error?: Error): void => {
        limit.cancelled = true
        if (error) reject(error)
        else resolve(socket as unknown as Awaited<ReturnType<Connect>>)
      }
      socket.once('connect', () => settle()).on('error', settle)
    })

  /** A connection from outside to a process. */
  visit(process: Process | undefined): readonly [outside: SimSocket, inside: SimSocket] {
    return runAs(undefined, () => connectPair('caller', this.wires, process))
  }

  #connect(host: string, port: number): SimSocket {
    const [mine, theirs] = connectPair(`upstream ${host}`, this.wires, undefined)
    const door = this.#doors.get(host)?.()
    const state = door?.state ?? 'refused'
    mine.connecting = true
    if (state === 'never') return mine
    const ms = state === 'late' ? 1_000 + this.random.int(8_000) : 1 + this.random.int(20)
    this.time.after(ms, `connect ${host}:${port} ${state}`, () => {
      if (mine.destroyed) return
      mine.connecting = false
      if (!door || state === 'refused') {
        mine.destroy(failure('ECONNREFUSED'))
        return
      }
      mine.emit('connect')
      runAs(undefined, () => door.accept(theirs))
    })
    return mine
  }
}
