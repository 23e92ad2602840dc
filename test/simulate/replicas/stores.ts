import net from 'node:net'
import { type Process, runAs, runningProcess } from '../world/process.ts'
import { Random } from '../world/random.ts'
import { connectPair, failure, type SimSocket, type Wires } from '../world/sockets.ts'
import { begin } from '../world/time.ts'
import type { World } from '../world/world.ts'
import { Ground } from './ground.ts'
import { type Link, Relay, soundLink, type Store } from './relay.ts'
import type { Servers } from './servers.ts'
import { Stillness } from './stillness.ts'

/** The real function, saved before the world replaces it. */
const connect = net.connect

const ports: { readonly [port: number]: Store } = { 5432: 'postgres', 6379: 'redis' }

/** The servers of a world: real ones, with a relay on each connection between them and the gateways. */
export class Stores {
  readonly postgresUrl: string
  readonly redisUrl: string
  readonly #world: World
  readonly #servers: Servers
  readonly #ground: Ground
  readonly #stillness: Stillness
  readonly #random: Random
  readonly #links = new Map<string, Link>()
  readonly #relays = new Set<Relay>()
  readonly #waiting: { readonly link: Link; readonly go: () => void }[] = []
  readonly #wires: Wires
  /** The time on the servers' clocks. */
  #shown = 0

  constructor(world: World, servers: Servers) {
    this.#world = world
    this.#servers = servers
    this.#random = new Random(world.seed, 'stores')
    // Closer than vendors: the timeout for Redis is shorter than a slow packet takes elsewhere.
    const lag = { share: 0.02, mostMs: 30 }
    this.#wires = { time: world.time, random: new Random(world.seed, 'store wires'), lag, whole: true }
    this.#ground = new Ground(world.seed, servers, this.#time())
    this.#stillness = new Stillness(world, this.#ground, this.#relays)
    this.postgresUrl = `postgres://tollgate@10.0.0.5:5432/${this.#ground.name}`
    this.redisUrl = `redis://10.0.0.6:6379/${this.#ground.redis}`
  }

  open(): Promise<void> {
    return this.#ground.open()
  }

  async close(): Promise<void> {
    for (const relay of this.#relays) relay.cut()
    await this.#ground.close()
  }

  /** Current rows of the database, bypassing every fault and the gateways. */
  rows(sql: string): Promise<readonly { readonly [column: string]: unknown }[]> {
    return this.#ground.rows(sql)
  }

  /** The link between a process and a server. */
  link(process: Process | undefined, store: Store): Link {
    const name = `${process?.name} ${store}`
    let link = this.#links.get(name)
    if (!link) this.#links.set(name, (link = { ...soundLink }))
    return link
  }

  /** Repairs one link, or gives it faults. */
  set(process: Process, store: Store, how: Partial<Link>): void {
    const link = this.link(process, store)
    Object.assign(link, soundLink, how)
    if (link.state === 'refused') for (const relay of this.#of(link)) relay.cut()
    if (link.state !== 'open') return
    for (const relay of this.#of(link)) relay.release()
    for (const one of this.#waiting.splice(0)) {
      if (one.link === link) one.go()
      else this.#waiting.push(one)
    }
  }

  mend(): void {
    for (const link of this.#links.values()) {
      Object.assign(link, soundLink)
      for (const relay of this.#of(link)) relay.release()
    }
    for (const one of this.#waiting.splice(0)) one.go()
    this.fail(undefined)
  }

  /** From now on every n-th row that is written fails, with a code of PostgreSQL. */
  fail(fault: { readonly code: string; readonly every: number } | undefined): void {
    this.#ground.fail(fault)
  }

  /** The server ends all sessions, as at a stop, and accepts new ones. */
  endSessions(): Promise<void> {
    return this.#stillness.end([...this.#relays].filter(relay => relay.store === 'postgres' && !relay.isGone))
  }

  /** Redis loses all data, like a new one. */
  flushRedis(): Promise<void> {
    return this.#ground.flushRedis()
  }

  #end(link: Link): void {
    if (!link.endsThen) return
    Object.assign(link, soundLink, { state: 'refused' })
    for (const relay of this.#of(link)) relay.cut()
  }

  /** A replacement for a socket that is not yet connected, to one of the servers, by its port. */
  createSocket(): SimSocket {
    const owner = runningProcess()
    const [mine, theirs] = runAs(owner, () => connectPair('store', this.#wires, undefined))
    mine.connecting = true
    const open = (port: number): SimSocket => {
      const store = ports[port]
      if (!store) throw new Error(`nobody is at port ${port}`)
      const link = this.link(owner, store)
      this.#world.time.after(0.5 + 3 * this.#random.unit(), `${store} connects`, () =>
        this.#open(mine, theirs, store, link),
      )
      return mine
    }
    return Object.assign(mine, { connect: open })
  }

  /**
   * Resolves when every server has answered, or waits for another session's lock, and gateways have received the
   * answers.
   */
  async quiet(): Promise<void> {
    await this.#stillness.come()
    for (const relay of this.#relays) {
      relay.tell()
      if (relay.isGone) this.#relays.delete(relay)
      else this.#stillness.watch(relay)
    }
  }

  #open(mine: SimSocket, theirs: SimSocket, store: Store, link: Link): void {
    if (mine.destroyed) return
    if (link.state === 'refused') return void mine.destroy(failure('ECONNREFUSED'))
    if (link.state === 'held') {
      const owner = runningProcess()
      const again = (): void => this.#open(mine, theirs, store, link)
      const go = (): void => void this.#world.time.after(1, `${store} connects`, again, owner)
      return void this.#waiting.push({ link, go })
    }
    const { postgresPort, redisPort } = this.#servers
    const outer = runAs(undefined, () => connect(store === 'postgres' ? postgresPort : redisPort, '127.0.0.1'))
    const relay = new Relay({
      store,
      link,
      inner: theirs,
      outer,
      draw: (share, fault) => this.#draw(share, fault),
      lost: () => this.#end(link),
      serverTime: () => `${this.#time()}000`,
      asks: () => this.#setClock(),
      stirred: () => this.#stillness.stirs(),
    })
    this.#relays.add(relay)
    mine.connecting = false
    mine.emit('connect')
  }

  #draw(share: number, fault: string): boolean {
    if (share === 0 || !this.#random.chance(share)) return false
    this.#world.mark(`fault: ${fault}`)
    return true
  }

  #of(link: Link): readonly Relay[] {
    return [...this.#relays].filter(relay => relay.link === link)
  }

  #time(): string {
    return String(Math.floor(begin + this.#world.time.tick))
  }

  /** Sets the servers' clocks to the world's time. */
  #setClock(): void {
    if (this.#shown === this.#world.time.tick) return
    this.#shown = this.#world.time.tick
    this.#ground.setClock(this.#time())
  }
}
