import type { Clock } from '../../../src/index.ts'
import { installMachine, sleepIn } from './globals.ts'
import { type Process, runAs } from './process.ts'
import { Random } from './random.ts'
import { connectPair, failure, type SimSocket, type Wires } from './sockets.ts'
import { FaultyDisk } from './storage.ts'
import { watchUnpacking } from './unpacking.ts'
import { type Happening, Time } from './time.ts'

/** Who takes connections at a host, and how: undefined where nobody does. */
export type Door = {
  /** `refused` at once; `late` after seconds; `never`: neither an answer nor a refusal. */
  readonly state: 'open' | 'refused' | 'late' | 'never'
  accept(socket: SimSocket): void
}

/** All that a gateway could meet: time, chance, the network, the disk. One a process. */
export class World {
  readonly seed: number
  readonly random: Random
  readonly time: Time
  readonly disk: FaultyDisk
  readonly wires: Wires
  /** How often each fault was injected, and each state reached. */
  readonly marks: { [name: string]: number } = {}
  readonly #doors = new Map<string, () => Door>()

  constructor(seed: number, told?: (line: string) => void) {
    this.seed = seed
    this.random = new Random(seed, 'world')
    this.time = new Time(new Random(seed, 'ties'), told)
    this.disk = new FaultyDisk(new Random(seed, 'disk'), fault => this.mark(`fault: ${fault}`))
    this.wires = { time: this.time, random: new Random(seed, 'wires'), lag: { share: 0.05, mostMs: 400 } }
  }

  /** Takes the place of this process's clocks, timers, chance, network and disk. */
  install(): void {
    this.disk.install()
    watchUnpacking()
    installMachine({
      time: this.time,
      random: this.random,
      connect: (host, port) => this.#connect(host, port),
    })
  }

  mark(name: string): void {
    this.marks[name] = (this.marks[name] ?? 0) + 1
  }

  serve(host: string, door: () => Door): void {
    this.#doors.set(host, door)
  }

  /** What is handed to a gateway; whatever has not been given it finds the same in place of Node's own. */
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
    sleep: async (ms, signal) => {
      await sleepIn(this.time)(ms, undefined, signal && { signal }).catch(() => undefined)
    },
  }

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
