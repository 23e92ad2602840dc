import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine } from '../engine/index.ts'
import type { ServerConfig } from '../domain/index.ts'
import type { Clock, Pending } from '../util/index.ts'
import type { GatewayLog } from '../observe/index.ts'
import { Certificate } from './certificate.ts'
import { Connections } from './connections.ts'
import { bind, type CallerServer, createCallerServer, endIdle, type Listener, stopListening } from './listeners.ts'

/** The time within which a new connection must send its request. */
const arrivalMs = 100
/** The time for a written response to reach its client. */
const lastWordsMs = 500
/** The time for aborted requests to settle. */
const settleMs = 5_000

type ApiListenerParts = {
  readonly listener: Listener
  readonly engine: Pick<Engine, 'open' | 'drain' | 'stop' | 'refuseUnread' | 'running' | 'isWebSocket'>
  readonly clock: Clock
  readonly log: GatewayLog
}

/** The client listener: the configured address, and connections that an embedding program hands over. */
export class ApiListener {
  readonly connections: Connections
  readonly #parts: ApiListenerParts
  readonly #brought = new Set<Duplex>()
  #outer: CallerServer | undefined
  /** For connections that are handed over. */
  #inner: CallerServer | undefined
  #certificate: Certificate | undefined
  #isClosing = false

  constructor(parts: ApiListenerParts) {
    this.#parts = parts
    this.connections = new Connections(() => parts.engine.running.plan.server)
  }

  /** @returns the URL of the address */
  async listen(): Promise<string> {
    const { engine, log } = this.#parts
    const { listen, tls } = engine.running.plan.server
    this.#certificate = tls && new Certificate(tls, log)
    this.#outer = this.#createServer(this.#certificate)
    return (await bind(this.#outer.server, listen)).url
  }

  /** Serves a connection that other code has accepted. */
  accept(connection: Duplex): void {
    this.#inner ??= this.#createServer(undefined)
    if (this.#isClosing) return void connection.destroy()
    this.#brought.add(connection)
    connection.once('close', () => this.#brought.delete(connection))
    this.#inner.server.emit('connection', connection)
  }

  /** When the certificate that clients get expires, in milliseconds since the epoch; null without one. */
  get certificateEnds(): number | null {
    return this.#certificate?.endsAt ?? null
  }

  /** @returns why the certificate of a new plan is unusable; the old one then stays */
  renew({ tls }: ServerConfig): string | undefined {
    return tls && this.#certificate?.renew(tls)
  }

  /** Accepts nothing from now on. Every response that has not begun closes its connection. */
  release(): void {
    this.#isClosing = true
    this.#outer?.release()
    this.#inner?.release()
    this.#certificate?.close()
  }

  /** Responses close their connections while clients are still accepted, so that few are open at the end. */
  async close(): Promise<void> {
    const { engine, clock } = this.#parts
    const { drainWaitMs } = engine.running.plan.server
    if (drainWaitMs > 0) await clock.sleep(drainWaitMs)
    // Read what has arrived before the listener closes: its sender could not know whether it was received.
    await nextTurn()
    await this.#drain(this.#outer?.server)
    await this.#letGoOfBrought()
  }

  #createServer(certificate: Certificate | undefined): CallerServer {
    const { listener, engine, clock } = this.#parts
    const admits = this.connections.enter.bind(this.connections)
    return createCallerServer(listener, code => engine.refuseUnread(code), {
      certificate,
      admits,
      clock,
      isWebSocket: req => engine.isWebSocket(req),
    })
  }

  /**
   * Accepts no new work. Running work ends by itself, or is aborted at the deadline, or is abandoned if that fails too.
   */
  async #drain(server: CallerServer['server'] | undefined): Promise<void> {
    const { engine, clock, log } = this.#parts
    const { drainMs, drainWaitMs } = engine.running.plan.server
    const ended = server?.listening === true ? stopListening(server) : undefined
    // A load balancer may have opened a connection at the last moment, whose request has not arrived yet.
    if (ended && drainWaitMs > 0) await clock.sleep(arrivalMs)
    const unbound = server && ended && endIdle(server, ended, clock)
    const deadline = clock.after(drainMs, () => engine.stop())
    const cut = clock.after(drainMs + lastWordsMs, () => {
      server?.closeAllConnections()
      this.#endBrought()
    })
    await this.#atMost(drainMs + settleMs, engine.drain())
    deadline.cancel()
    cut.cancel()
    if (engine.open > 0) log.error({ requests: engine.open }, 'drain timeout: aborting the remaining requests')
    await this.#atMost(lastWordsMs, unbound)
    server?.closeAllConnections()
    await unbound
  }

  /** Gives the last responses time to arrive. */
  async #letGoOfBrought(): Promise<void> {
    const gone = [...this.#brought].map(one => new Promise<void>(resolve => one.once('close', () => resolve())))
    await this.#atMost(lastWordsMs, Promise.all(gone))
    this.#endBrought()
  }

  #endBrought(): void {
    for (const connection of this.#brought) connection.destroy()
  }

  /** Waits for a promise, for at most so many milliseconds. */
  async #atMost(ms: number, done: Promise<unknown> | undefined): Promise<void> {
    const { clock } = this.#parts
    let limit: Pending | undefined
    await Promise.race([done, new Promise<void>(resolve => (limit = clock.after(ms, resolve)))])
    limit?.cancel()
  }
}
