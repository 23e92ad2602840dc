import net from 'node:net'
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { Client, TypeOverrides } from 'pg'
import { type Process, runAs, runningProcess } from '../world/process.ts'
import { Random } from '../world/random.ts'
import { connectPair, failure, type SimSocket, type Wires } from '../world/sockets.ts'
import { begin } from '../world/time.ts'
import type { World } from '../world/world.ts'
import { type Link, Relay, soundLink, type Store } from './relay.ts'
import { redisDatabases, type Servers, template } from './servers.ts'

/** The real ones, kept before the world takes their place. */
const { Socket } = net
const connect = net.connect
const later = setTimeout
const clock = performance.now.bind(performance)

const ports: { readonly [port: number]: Store } = { 5432: 'postgres', 6379: 'redis' }
/** What PostgreSQL is told when connections are made, by the world's time. */
const statementMs = 5_000
const idleInTransactionMs = 10_000
/** Real milliseconds: longer than the server needs to see that two wait for each other; what no seed takes. */
const deadlockMs = 15
const stuckMs = 30_000

type Row = { readonly [column: string]: unknown }

/**
 * The servers of a world: real ones, with a relay on each connection. The world's time stands still while a server works, and
 * goes on where it waits for a lock; its own limits in time (of statements, of idle transactions) are kept here, by that time.
 */
export class Stores {
  readonly postgresUrl: string
  readonly redisUrl: string
  readonly #world: World
  readonly #servers: Servers
  readonly #database: string
  readonly #random: Random
  readonly #links = new Map<string, Link>()
  readonly #relays = new Set<Relay>()
  readonly #waiting: { readonly link: Link; readonly go: () => void }[] = []
  readonly #redis: number
  readonly #wires: Wires
  #clock: number
  #observer: Client | undefined
  #stir: () => void = () => undefined
  #stirred = false

  constructor(world: World, servers: Servers) {
    this.#world = world
    this.#servers = servers
    this.#random = new Random(world.seed, 'stores')
    // Nearer than vendors: what Redis is waited for is less than a slow piece takes elsewhere.
    const lag = { share: 0.02, mostMs: 30 }
    this.#wires = { time: world.time, random: new Random(world.seed, 'store wires'), lag, whole: true }
    // By the seed alone: the revision of a configuration is of its addresses too.
    this.#database = `seed_${world.seed}`
    this.#redis = world.seed % redisDatabases
    this.postgresUrl = `postgres://tollgate@10.0.0.5:5432/${this.#database}`
    this.redisUrl = `redis://10.0.0.6:6379/${this.#redis}`
    const file = `${servers.clocks}/${this.#database}`
    this.fail(undefined)
    writeFileSync(file, this.#time())
    this.#clock = openSync(file, 'r+')
  }

  async open(): Promise<void> {
    await this.#once('postgres', `DROP DATABASE IF EXISTS ${this.#database} WITH (FORCE)`)
    await this.#once('postgres', `CREATE DATABASE ${this.#database} TEMPLATE ${template}`)
    this.#observer = await this.#client(this.#database)
    await this.flushRedis()
  }

  async close(): Promise<void> {
    for (const relay of this.#relays) relay.cut()
    await this.#observer?.end()
    closeSync(this.#clock)
    await this.#once('postgres', `DROP DATABASE ${this.#database} WITH (FORCE)`)
  }

  /** Rows of the database as it is, past every fault and past the gateways. */
  async rows(sql: string): Promise<readonly Row[]> {
    if (!this.#observer) throw new Error('nobody looks yet')
    return (await this.#observer.query<Row>(sql)).rows
  }

  /** What is between a process and a server. */
  link(process: Process | undefined, store: Store): Link {
    const name = `${process?.name} ${store}`
    let link = this.#links.get(name)
    if (!link) this.#links.set(name, (link = { ...soundLink }))
    return link
  }

  /** Makes one link as it should be, or otherwise. */
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
    const text = fault ? `${fault.code} ${fault.every}` : '- 1'
    writeFileSync(`${this.#servers.clocks}/${this.#database}.fault`, text)
  }

  /** All sessions are ended by the server, as where it is told to stop, and new ones are let in. */
  async endSessions(): Promise<void> {
    const own = [...this.#relays].filter(relay => relay.store === 'postgres' && !relay.isGone)
    for (const relay of own) relay.isEnding = true
    await this.#terminate(own)
  }

  /** Redis forgets everything, as one that has begun anew. */
  async flushRedis(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(this.#servers.redisPort, '127.0.0.1')
      let text = ''
      socket.on('error', reject)
      socket.on('data', bytes => {
        text += bytes.toString()
        if (text.split('\r\n').length <= 2) return
        socket.destroy()
        resolve()
      })
      socket.write(`SELECT ${this.#redis}\r\nFLUSHDB\r\n`)
    })
  }

  /** What takes the place of a socket that is yet to be connected, by its port, to one of the servers. */
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

  /** Resolves when every server has answered, or is known to wait for somebody else's lock. */
  async quiet(): Promise<void> {
    const began = clock()
    while (this.#isAtWork()) {
      await this.#wait()
      if (clock() - began > stuckMs) throw new Error(`the servers do not come to rest: ${this.#describe()}`)
    }
    for (const relay of this.#relays) {
      relay.tell()
      if (relay.isGone) this.#relays.delete(relay)
      else this.#watch(relay)
    }
  }

  #isAtWork(): boolean {
    for (const relay of this.#relays) if (relay.isAtWork) return true
    return false
  }

  #describe(): string {
    const at = [...this.#relays].filter(relay => relay.isAtWork)
    return at.map(one => `${one.store} ${one.pid} ${one.asked}/${one.answered} left ${one.isLeft}`).join('; ')
  }

  /** Until something stirs; where nothing does, finds out who waits for a lock and who is gone. */
  async #wait(): Promise<void> {
    if (!this.#stirred)
      await new Promise<void>(resolve => {
        const limit = later(resolve, 2)
        this.#stir = () => {
          clearReal(limit)
          resolve()
        }
      })
    this.#stir = () => undefined
    const isStirred = this.#stirred
    this.#stirred = false
    const doubtful = [...this.#relays].filter(
      relay => relay.isAtWork && relay.store === 'postgres' && relay.pid !== undefined,
    )
    if (isStirred && !doubtful.some(relay => relay.isLeft)) return
    const left = [...this.#relays].filter(relay => relay.isLeft && relay.pid === undefined)
    for (const relay of left) relay.isGone = true
    if (doubtful.length > 0) await this.#lookAt(doubtful)
  }

  async #lookAt(relays: readonly Relay[]): Promise<void> {
    const pids = relays.map(relay => relay.pid).join(', ')
    const rows = await this.rows(
      `SELECT pid, EXISTS (SELECT 1 FROM pg_locks WHERE pg_locks.pid = a.pid AND NOT granted) AS waits
       FROM pg_stat_activity a WHERE pid IN (${pids})`,
    )
    for (const relay of relays) {
      const row = rows.find(one => one['pid'] === relay.pid)
      if (!row && relay.isLeft) relay.isGone = true
      if (row?.['waits'] !== true) {
        relay.blockedSince = undefined
        continue
      }
      relay.blockedSince ??= clock()
      // Who has left is waited for no longer: the server finds out when it has the lock.
      if (clock() - relay.blockedSince <= deadlockMs) continue
      if (relay.isLeft) relay.isGone = true
      else this.#block(relay)
    }
  }

  #block(relay: Relay): void {
    relay.isBlocked = true
    const { answered } = relay
    const cancel = (): void => {
      if (!relay.isBlocked || relay.answered !== answered || relay.isGone) return
      this.#world.mark('postgres: statement took too long')
      relay.isBlocked = false
      void this.rows(`SELECT pg_cancel_backend(${relay.pid})`).catch(() => undefined)
    }
    this.#world.time.after(statementMs, 'the server ends a statement', cancel, null)
  }

  /** The server ends a transaction in which nothing is asked for too long. */
  #watch(relay: Relay): void {
    if (!relay.isInTransaction || !relay.isIdle || this.#watched.get(relay) === relay.answered) return
    this.#watched.set(relay, relay.answered)
    const { asked } = relay
    const end = (): void => {
      if (relay.isGone || relay.isLeft || relay.asked !== asked) return
      this.#world.mark('postgres: idle transaction ended')
      relay.isEnding = true
      void this.#terminate([relay]).catch(() => undefined)
    }
    this.#world.time.after(idleInTransactionMs, 'the server ends an idle transaction', end, null)
  }

  #set = 0
  readonly #watched = new WeakMap<Relay, number>()

  async #terminate(relays: readonly Relay[]): Promise<void> {
    const pids = relays.flatMap(relay => relay.pid ?? []).join(', ')
    if (pids !== '') await this.rows(`SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[${pids}]) AS pid`)
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
      serverTime: () => `${this.#time()}000`,
      asks: () => this.#setClock(),
      stirred: () => this.#stirs(),
    })
    this.#relays.add(relay)
    mine.connecting = false
    mine.emit('connect')
  }

  /** Who waits for a lock may have it when anybody has said anything. */
  #stirs(): void {
    this.#stirred = true
    for (const relay of this.#relays) relay.isBlocked = false
    this.#stir()
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

  /** The servers' clocks show the world's time. */
  #setClock(): void {
    if (this.#set === this.#world.time.tick) return
    this.#set = this.#world.time.tick
    writeSync(this.#clock, this.#time(), 0)
  }

  async #client(database: string): Promise<Client> {
    const port = this.#servers.postgresPort
    const types = new TypeOverrides()
    for (const id of wholes) types.setTypeParser(id, Number)
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'tollgate',
      database,
      types,
      stream: () => new Socket(),
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async #once(database: string, sql: string): Promise<void> {
    const client = await this.#client(database)
    await client.query(sql)
    await client.end()
  }
}

const clearReal = clearTimeout
/** BIGINT and NUMERIC: no sum of a world is beyond what a number holds. */
const wholes = [20, 1700]
