import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine } from '../engine/index.ts'
import type { ServerConfig } from '../domain/index.ts'
import type { Clock, Pending } from '../util/index.ts'
import type { GatewayLog } from '../observe/index.ts'
import { Certificate } from './certificate.ts'
import { Connections } from './connections.ts'
import { bind, type CallerServer, createCallerServer, endIdle, type Listener, stopListening } from './listeners.ts'

/** The maximum time between a new connection and its request, and the pause between two checks for it. */
const arrivalMs = 2_000
const arrivalPauseMs = 100
/** The time in which a written response reaches its client. */
const lastWordsMs = 500
/** The time in which aborted requests settle. */
const settleMs = 5_000

type ApiListenerParts = {
  readonly listener: Listener
  readonly engine: Pick<Engine, 'open' | 'drain' | 'stop' | 'refuseUnread' | 'running' | 'isWebSocket'>
  readonly clock: Clock
  readonly log: GatewayLog
}

/** The client listener: the configured address, and connections from an embedding program. */
export class ApiListener {
  readonly connections: Connections
  readonly #parts: ApiListenerParts
  readonly #brought = new Set<Duplex>()
  #outer: CallerServer | undefined
  /** For connections from an embedding program. */
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

  /** @returns why the certificate of a new plan is unusable; the old one then stays in use */
  renew({ tls }: ServerConfig): string | undefined {
    return tls && this.#certificate?.renew(tls)
  }

  /** From now on accepts nothing, and every response that has not begun closes its connection. */
  release(): void {
    this.#isClosing = true
    this.#outer?.release()
    this.#inner?.release()
    this.#certificate?.close()
  }

  /**
   * Responses close their connections while clients are still accepted, so that few connections are open at the end.
   */
  async close(): Promise<void> {
    const { engine, clock } = this.#parts
    const { drainWaitMs } = engine.running.plan.server
    if (drainWaitMs > 0) await clock.sleep(drainWaitMs)
    // Reads arrived data before the listener closes, because its sender could not know whether it was received.
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

  /** Accepts no new work. Running work ends by itself, or is aborted at the deadline, or is then abandoned. */
  async #drain(server: CallerServer['server'] | undefined): Promise<void> {
    const { engine, clock, log } = this.#parts
    const { drainMs, drainWaitMs } = engine.running.plan.server
    const ended = server?.listening === true ? stopListening(server) : undefined
    if (server && ended && drainWaitMs > 0) await this.#awaitArrivals(server)
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

  /** A load balancer may have opened a connection whose request has not arrived yet. */
  async #awaitArrivals(server: CallerServer['server']): Promise<void> {
    const { engine, clock } = this.#parts
    for (let waited = 0; waited < arrivalMs; waited += arrivalPauseMs) {
      await clock.sleep(arrivalPauseMs)
      // Reads arrived data first, because a busy machine may run this late.
      await nextTurn()
      server.closeIdleConnections()
      if (this.connections.open <= engine.open) return
    }
  }

  /** Gives the last responses time to reach their clients. */
  async #letGoOfBrought(): Promise<void> {
    const gone = [...this.#brought].map(one => new Promise<void>(resolve => one.once('close', () => resolve())))
    await this.#atMost(lastWordsMs, Promise.all(gone))
    this.#endBrought()
  }

  #endBrought(): void {
    for (const connection of this.#brought) connection.destroy()
  }

  /** Waits for a promise, but not longer than a number of milliseconds. */
  async #atMost(ms: number, done: Promise<unknown> | undefined): Promise<void> {
    const { clock } = this.#parts
    let limit: Pending | undefined
    await Promise.race([done, new Promise<void>(resolve => (limit = clock.after(ms, resolve)))])
    limit?.cancel()
  }
}
