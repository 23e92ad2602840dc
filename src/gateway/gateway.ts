import { readFile } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Anchors } from './anchors.ts'
import { Certificate } from './certificate.ts'
import { ConfigError } from './config-error.ts'
import { describeChanges, effectiveSettings, type Finding, loadPlan, showConfig } from '../config/index.ts'
import { Connections } from './connections.ts'
import { createConsoleDoor, isConsolePath } from './console-door.ts'
import { findDialect, guessDialect } from '../dialects/index.ts'
import type { EngineParts, Running, Step } from '../engine/index.ts'
import { hasSoundHost, takeOriginForm } from '../engine/request-target.ts'
import {
  type AnyPlugin,
  type Clock,
  type Connect,
  type Counters,
  type Exchange,
  type Hooks,
  type Host,
  Ids,
  type LogRow,
  type OtlpPlan,
  type Pending,
  type Plan,
  type Random,
  type ReviewStatus,
  type Storage,
  type Stores,
  sumReviews,
  systemClock,
  systemRandom,
  type Timers,
  type Times,
  completeClock,
} from '../kit/index.ts'
import { addFigures } from './figures.ts'
import { knownNames } from './known-names.ts'
import {
  bind,
  type CallerServer,
  createCallerServer,
  endIdle,
  type Listener,
  stopListening,
  unbind,
} from './listeners.ts'
import { createLocalAnswers } from './local-answers.ts'
import {
  createLog,
  createMetrics,
  type GatewayLog,
  type Metrics,
  Observers,
  UnrecognisedAnswers,
  unfailingLog,
  watchCharges,
} from '../observe/index.ts'
import type { Telemetry } from '../observe/otlp/telemetry.ts'
import { createOpsServer } from './ops.ts'
import { pluginFinder } from './plugin-finder.ts'
import { Reloads } from './reloads.ts'
import { Retention } from './retention.ts'
import type { Simulator } from '../simulator/index.ts'
import { joinStatus, type ProcessStatus, type Status } from './status.ts'
import { openCounters } from '../storage/counters/index.ts'
import { openStorage, type StartThread } from '../storage/index.ts'
import { readVersion } from './version.ts'

/** Parts that an embedder or a test brings instead of the gateway's own. */
export type GatewayParts = {
  readonly env?: { readonly [name: string]: string | undefined }
  /** The system's unless told; one that only tells the time leaves waiting to the system. */
  readonly clock?: Times & Partial<Timers>
  readonly random?: Random
  readonly log?: GatewayLog
  /** Where limits are counted, whatever the configuration says; closed with the gateway. */
  readonly counters?: Counters
  /** Beside the built-in ones and those that the configuration names by package or path. */
  readonly plugins?: readonly AnyPlugin[]
  /** The configuration as it was read a moment ago; absent to read it now. */
  readonly plan?: Plan
  /**
   * `worker`: one of several processes on an address and a storage, which the process that started them has claimed. It
   * opens no listener for operators.
   */
  readonly role?: 'gateway' | 'worker'
  /** The name of its lease on the storage; made up unless told. */
  readonly owner?: string
  /** Opens connections to upstreams; the engine's own unless told. */
  readonly connect?: Connect
  /** What runs the storage of a file; threads of the operating system unless told. */
  readonly startThread?: StartThread
}

/** Where to read the configuration: a file, or a text that stands for one. */
export type GatewayConfig = string | { readonly text: string; readonly file?: string }

export type Listening = { readonly url: string; readonly opsUrl: string | undefined }

export type ReloadResult =
  | { readonly ok: true; readonly revision: string; readonly changes: readonly string[] }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** A running gateway. Mount `listener` in any Node server, or let it `listen` by itself. */
export type Gateway = AsyncDisposable & {
  readonly plan: Plan
  readonly storage: Storage
  readonly metrics: Metrics
  readonly log: GatewayLog
  /** The simulated upstreams in use, by name. */
  readonly simulated: ReadonlyMap<string, string>
  readonly listener: Listener
  /** Exchanges that have not settled yet. */
  readonly open: number
  /** Takes work, billable work too. */
  readonly ready: boolean
  /** How this process is. */
  status(): ProcessStatus
  /** Charges that wait for a person, of all gateways on the storage; null while it does not answer. */
  reviews(): Promise<ReviewStatus | null>
  listen(): Promise<Listening>
  /** Serves a connection that somebody else has let in. */
  accept(connection: Duplex): void
  /** Reads the configuration again: all of it takes effect, or none. */
  reload(): Promise<ReloadResult>
  /** Lets requests under way finish (at most `server.drain`), writes what is queued, and lets go of everything. */
  close(): Promise<void>
}

/**
 * Builds a gateway from its configuration: validates, opens the stores, recovers charges, creates the plugins.
 * @throws ConfigError when the configuration is not valid; StorageError when the stores cannot be opened
 */
export async function createGateway(config: GatewayConfig, parts: GatewayParts = {}): Promise<Gateway> {
  const file = typeof config === 'string' ? config : (config.file ?? 'gateway.yaml')
  const env = parts.env ?? process.env
  const clock = parts.clock ? completeClock(parts.clock) : systemClock
  const random = parts.random ?? systemRandom
  const ids = new Ids(random)
  refuseUnsafeEnvironment(env)
  const read = () =>
    loadPlan({
      file,
      ...(typeof config === 'object' && { text: config.text }),
      env,
      ...pluginFinder(file, parts.plugins),
      known: knownNames,
    })
  const readPlan = async (): Promise<Plan> => {
    const loaded = await read()
    if (loaded.ok) return loaded.plan
    throw new ConfigError(loaded.findings)
  }
  const role = parts.role ?? 'gateway'

  const plan = parts.plan ?? (await readPlan())
  const log = unfailingLog(parts.log ?? createLog({ level: 'info', clock }))
  log.hide(secretsOf(plan))
  const metrics = createMetrics()
  const unrecognised = new UnrecognisedAnswers()
  const observers = new Observers(clock, log)
  metrics.add(() => observers.snapshots())
  const kept = new Map<string, unknown>()
  const simulated = new Map<string, string>()
  let simulator: Simulator | undefined
  // The storage's thread starts while this one loads the engine: a start takes as long as the longer of the two.
  const [storage, counters, { Engine, Pipeline, Router }] = await openAll(
    openStorage({
      url: plan.storage,
      clock,
      ids,
      log,
      role,
      startThread: parts.startThread,
      onCommit: observers.quiet('metrics', (...told) => metrics.committed(...told)),
      ...(parts.owner !== undefined && { owner: parts.owner }),
    }),
    parts.counters ? Promise.resolve(parts.counters) : openCounters({ url: plan.counters, clock, random, log }),
    import('../engine/index.ts'),
  )

  const charges = watchCharges(
    storage.ledger,
    observers.quiet('metrics', charge => metrics.charged(charge)),
  )
  const stores: Stores = { ...storage, ledger: charges.ledger, counters }
  const telemetry = plan.otlp && (await openTelemetry(plan.otlp, { clock, random, log }))
  if (telemetry) metrics.add(() => telemetry.snapshots())

  async function startSimulated(plan: Plan): Promise<void> {
    for (const { url } of plan.upstreams.values()) {
      const name = simulatedName(url)
      if (name === undefined || simulated.has(name)) continue
      if (!simulator) {
        const { startSimulator } = await import('../simulator/index.ts')
        simulator = await startSimulator()
      }
      const address = simulator.url(name)
      if (address === undefined)
        throw new Error(`there is no simulated upstream '${name}'; there are: ${simulator.names.join(', ')}`)
      simulated.set(name, address)
    }
  }

  async function build(plan: Plan): Promise<Running> {
    const finder = pluginFinder(file, parts.plugins)
    const steps: Step[] = []
    for (const step of plan.pipeline) {
      const plugin = await finder.resolvePlugin(step.plugin)
      if (!plugin) throw new Error(`plugin '${step.plugin}' was there when the configuration was checked, and is gone`)
      const host: Host = {
        stores,
        clock,
        random,
        ids,
        plan,
        log,
        keep<T>(name: string, create: () => T): T {
          const slot = `${plugin.name}/${name}`
          if (!kept.has(slot)) kept.set(slot, create())
          return kept.get(slot) as T
        },
      }
      try {
        // The options were checked against this plugin's own schema when the plan was made.
        const hooks: Hooks<never> = plugin.create(step.options as never, host)
        steps.push({ plugin: plugin.name, faceted: plugin.facet !== undefined, hooks })
      } catch (error) {
        // Those above it have begun to poll and to keep; a reload that fails may not leave them doing so.
        await new Pipeline(steps).close()
        throw error
      }
    }
    metrics.know({
      operations: plan.routes.map(route => route.operation),
      models: plan.models.keys(),
      upstreams: plan.upstreams.keys(),
    })
    return { plan, pipeline: new Pipeline(steps), router: new Router(plan.routes) }
  }

  // Each by itself: one that fails takes nothing from the others, nor from the request.
  const recorders: readonly ((row: LogRow, ex: Exchange) => void)[] = [
    observers.quiet('journal', row => storage.journal.append(row)),
    observers.quiet('log', row => log.request(row)),
    observers.quiet('metrics', (_row, ex) => {
      if (ex.notes.limits) metrics.limited(ex.notes.limits)
    }),
    observers.quiet('unrecognised', (row, ex) => {
      if (ex.notes.unrecognised) noteUnrecognised(row, ex.notes.unrecognised.shape)
    }),
    ...(telemetry ? [observers.quiet('telemetry', (row: LogRow, ex: Exchange) => telemetry.ended(row, ex))] : []),
    observers.quiet('metrics', row => metrics.settled(row)),
  ]

  function record(row: LogRow, ex: Exchange): void {
    charges.forget(row.id)
    for (const tell of recorders) tell(row, ex)
  }

  function noteUnrecognised({ id, model, upstream, operation }: LogRow, shape: string): void {
    const answer = { model: model ?? '', upstream: upstream ?? '', operation, shape }
    metrics.unrecognised(answer.model, answer.upstream)
    unrecognised.note(answer, clock.now())
    log.warn(
      { request: id, ...answer },
      "an upstream's answer was not recognised, and not handed out; its charge waits for a person",
    )
  }

  let engine: InstanceType<typeof Engine>
  try {
    await startSimulated(plan)
    engine = new Engine(
      {
        dialect: (name, head) => findDialect(name, head),
        guessDialect,
        local: createLocalAnswers(storage, clock.now()),
        resolveUrl: url => simulated.get(simulatedName(url) ?? '') ?? url,
        began: observers.quiet('metrics', () => metrics.began()),
        upstreamAnswered: observers.quiet('metrics', (...told) => metrics.upstreamAnswered(...told)),
        turnWasLong: observers.quiet('metrics', ({ step }) => metrics.turnWasLong(step)),
        record,
        ...(telemetry && { trace: quietTrace(telemetry, observers) }),
        clock,
        random,
        ids,
        connect: parts.connect,
        log,
      },
      await build(plan),
    )
  } catch (error) {
    await telemetry?.close()
    await simulator?.close()
    await counters.close()
    await storage.close()
    throw error
  }
  const connections = new Connections(() => engine.running.plan.server)
  addFigures(metrics, { clock, storage, counters, engine, connections, plan: () => engine.running.plan })
  const retention = new Retention({
    storage,
    clock,
    log,
    keptMs: () => engine.running.plan.logRetentionMs,
    reviewMs: () => engine.running.plan.reviewRetentionMs,
  })
  const anchors = new Anchors({ storage, clock, log, tell: anchor => telemetry?.anchored(anchor) })

  const door = createConsoleDoor({
    storage,
    clock,
    random,
    ids,
    log,
    plan: () => engine.running.plan,
    facts: {
      startedAt: clock.now(),
      loadedAt: () => reloads.loadedAt,
      lastReload: () => reloads.last,
      simulated: () => [...simulated.keys()],
      open: () => engine.open,
      countersHealthy: () => counters.healthy(),
      upstreamHealthy: name => engine.isOpen(name),
    },
    reload: role === 'worker' ? undefined : () => reloads.run(),
    check: text => checkText(file, text, env, engine.running.plan, parts.plugins),
    show: async () => showConfig(file, typeof config === 'object' ? config.text : await readFile(file, 'utf8'), env),
  })
  const listener: Listener = (req: IncomingMessage, res: ServerResponse) => {
    takeOriginForm(req)
    const isDoors = isConsolePath(req.url ?? '') && engine.running.plan.server.console
    // The engine refuses what does not say for whom it is, in the caller's style.
    if (isDoors && hasSoundHost(req)) door.handle(req, res)
    else void engine.handle(req, res)
  }
  let callers: CallerServer | undefined
  /** For connections that are brought to us. */
  let inner: CallerServer | undefined
  const brought = new Set<Duplex>()
  let certificate: Certificate | undefined
  let ops: Server | undefined
  let closing: Promise<void> | undefined
  // Of several processes the one that started them keeps the account of it.
  const reloads = new Reloads(clock, role === 'worker' ? undefined : log, readAgain)
  if (role !== 'worker') metrics.add(() => reloads.snapshots())
  const startedAt = clock.now()

  const isReady = (): boolean => closing === undefined && storage.ledger.healthy()

  async function listen(): Promise<Listening> {
    const { listen: address, ops: opsAddress, tls } = engine.running.plan.server
    certificate = tls && new Certificate(tls, log)
    const admits = connections.enter.bind(connections)
    callers = createCallerServer(listener, code => engine.refuseUnread(code), { certificate, admits, clock })
    const { url } = await bind(callers.server, address)
    if (!opsAddress || role === 'worker') return { url, opsUrl: undefined }
    ops = createOpsServer({ metrics, isReady, status: fullStatus, settings, reload: () => reloads.run() })
    return { url, opsUrl: (await bind(ops, opsAddress)).url }
  }

  function accept(connection: Duplex): void {
    const admits = connections.enter.bind(connections)
    inner ??= createCallerServer(listener, code => engine.refuseUnread(code), { admits, clock })
    if (closing !== undefined) return void connection.destroy()
    brought.add(connection)
    connection.once('close', () => brought.delete(connection))
    inner.server.emit('connection', connection)
  }

  function endBrought(): void {
    for (const connection of brought) connection.destroy()
  }

  /** What was said last gets its moment to arrive. */
  async function letGoOfBrought(): Promise<void> {
    const gone = [...brought].map(one => new Promise<void>(resolve => one.once('close', () => resolve())))
    await atMost(lastWordsMs, Promise.all(gone))
    endBrought()
  }

  function status(): ProcessStatus {
    const { upstreams } = engine.running.plan
    return {
      pid: process.pid,
      ready: isReady(),
      open_requests: engine.open,
      memory: process.memoryUsage.rss(),
      event_loop_p99_ms: metrics.delayMs(),
      storage_healthy: storage.ledger.healthy(),
      counters_healthy: counters.healthy(),
      resting_ms: Object.fromEntries([...upstreams.keys()].map(name => [name, Math.ceil(engine.restMs(name))])),
      unrecognised: unrecognised.list(),
    }
  }

  async function reviews(): Promise<ReviewStatus | null> {
    try {
      return sumReviews(await storage.books.open())
    } catch {
      // That the storage does not answer is told beside it.
      return null
    }
  }

  async function fullStatus(): Promise<Status> {
    const { loadedAt, status: lastReload } = reloads
    const life = { version: await readVersion(), startedAt, now: clock.now(), loadedAt, lastReload }
    return joinStatus(engine.running.plan, life, [status()], await reviews())
  }

  function settings() {
    const { plan } = engine.running
    return { revision: plan.revision, file: plan.file, settings: effectiveSettings(plan) }
  }

  async function readAgain(): Promise<ReloadResult> {
    const next = await read()
    if (!next.ok) return next
    log.hide(secretsOf(next.plan))
    const before = engine.running
    const changes = [...describeChanges(before.plan, next.plan), ...needRestart(before.plan, next.plan)]
    await startSimulated(next.plan)
    engine.swap(await build(next.plan))
    const { tls } = next.plan.server
    const unfit = tls && certificate?.renew(tls)
    const told = unfit === undefined ? [] : [`server.tls: the old certificate stays: ${unfit}`]
    return { ok: true, revision: next.plan.revision, changes: [...changes, ...told] }
  }

  /** Waits for something, and no longer than so many milliseconds. */
  async function atMost(ms: number, done: Promise<unknown> | undefined): Promise<void> {
    let limit: Pending | undefined
    await Promise.race([done, new Promise<void>(resolve => (limit = clock.after(ms, resolve)))])
    limit?.cancel()
  }

  /** No new work; what is under way ends by itself, or is ended at the deadline, or is left when even that ends nothing. */
  async function drain(server: CallerServer['server'] | undefined): Promise<void> {
    const { drainMs, drainWaitMs } = engine.running.plan.server
    const ended = server?.listening === true ? stopListening(server) : undefined
    // Behind a balancer somebody may have come in the last moment, whose request is not here yet.
    if (ended && drainWaitMs > 0) await clock.sleep(arrivalMs)
    const unbound = server && ended && endIdle(server, ended, clock)
    const deadline = clock.after(drainMs, () => engine.stop())
    const cut = clock.after(drainMs + lastWordsMs, () => {
      server?.closeAllConnections()
      endBrought()
    })
    await atMost(drainMs + settleMs, engine.drain())
    deadline.cancel()
    cut.cancel()
    if (engine.open > 0) log.error({ requests: engine.open }, 'requests did not end and go with the process')
    await atMost(lastWordsMs, unbound)
    server?.closeAllConnections()
    await unbound
  }

  /** Answers tell their connections to close as long as callers are still let in, so that few are open when they no longer are. */
  async function shut(): Promise<void> {
    const { drainWaitMs } = engine.running.plan.server
    callers?.release()
    inner?.release()
    certificate?.close()
    await retention.close()
    await door.close()
    if (drainWaitMs > 0) await clock.sleep(drainWaitMs)
    // What has reached us is read before the door closes on it: its sender could not know whether we have it.
    await nextTurn()
    await drain(callers?.server)
    await letGoOfBrought()
    ops?.closeAllConnections()
    if (ops) await unbind(ops, clock)
    await engine.close()
    await anchors.close()
    await telemetry?.close()
    await simulator?.close()
    metrics.close()
    await counters.close()
    await storage.close()
    await log.flush()
  }

  const close = (): Promise<void> => (closing ??= shut())

  return {
    get plan() {
      return engine.running.plan
    },
    get open() {
      return engine.open
    },
    get ready() {
      return isReady()
    },
    storage,
    metrics,
    log,
    simulated,
    listener,
    status,
    reviews,
    listen,
    accept,
    reload: () => reloads.run(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/**
 * Reads a text that a person pasted as the configuration. Code that the configuration in use does not name already is not
 * loaded for it, whatever the text says.
 */
async function checkText(
  file: string,
  text: string,
  env: NonNullable<GatewayParts['env']>,
  { pipeline }: Plan,
  brought: readonly AnyPlugin[] | undefined,
) {
  const finder = pluginFinder(file, brought)
  const named = new Set([...finder.knownPlugins, ...pipeline.map(step => step.plugin)])
  const loaded = await loadPlan({
    file,
    text,
    env,
    variablesAreSecret: true,
    knownPlugins: finder.knownPlugins,
    resolvePlugin: async name => (named.has(name) ? finder.resolvePlugin(name) : undefined),
    known: knownNames,
  })
  return loaded.ok ? { ok: true, findings: loaded.notes } : { ok: false, findings: loaded.findings }
}

type Closable = { close(): Promise<void> }

/** Opens two stores beside one another; when one cannot be opened the other is closed, or it would keep the process. */
async function openAll<A extends Closable, B extends Closable, C>(
  ...opening: readonly [Promise<A>, Promise<B>, Promise<C>]
): Promise<[A, B, C]> {
  try {
    return await Promise.all(opening)
  } catch (error) {
    for (const one of await Promise.allSettled(opening.slice(0, 2) as Promise<Closable>[]))
      if (one.status === 'fulfilled') await one.value.close()
    throw error
  }
}

/** Loaded by those who want it alone. */
async function openTelemetry(
  otlp: OtlpPlan,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: GatewayLog },
): Promise<Telemetry> {
  const { Telemetry } = await import('../observe/otlp/telemetry.ts')
  return new Telemetry(otlp, { ...parts, version: await readVersion() })
}

/** A trace that cannot be followed takes no header along, and nothing else with it. */
function quietTrace(telemetry: Telemetry, observers: Observers): NonNullable<EngineParts['trace']> {
  const began = observers.quiet('telemetry', (ex: Exchange, upstream: string) => telemetry.began(ex, upstream))
  return {
    began: (ex, upstream) => began(ex, upstream) ?? {},
    answered: observers.quiet('telemetry', (ex, status) => telemetry.answered(ex, status)),
  }
}

function simulatedName(url: string): string | undefined {
  return url.startsWith('simulator:') ? url.slice('simulator:'.length) : undefined
}

function* secretsOf(plan: Plan): Iterable<string> {
  yield* Object.values(plan.otlp?.headers ?? {})
  for (const { credential } of plan.upstreams.values()) {
    if (!credential) continue
    yield credential.value
    const bare = credential.value.replace(/^bearer\s+/i, '')
    if (bare !== '') yield bare
  }
  const password = URL.canParse(plan.counters) ? new URL(plan.counters).password : ''
  if (password !== '') yield* [password, decodeURIComponent(password)]
}

/** What a connection that was let in last has to bring its request. */
const arrivalMs = 100
/** What an answer has to reach its caller, once it is written. */
const lastWordsMs = 500
/** What requests that were ended have to settle. */
const settleMs = 5_000

/** Of `server`, what is opened once, by the file's words; the rest is read from the plan of each request. */
const fixedAtStart = { listen: 'listen', ops: 'ops', workers: 'workers' } as const

/** What a reload cannot change. */
function needRestart(before: Plan, after: Plan): readonly string[] {
  const text = 'takes effect at the next start'
  const changes: string[] = []
  if (before.storage !== after.storage) changes.push(`storage: ${text}`)
  if (before.counters !== after.counters) changes.push(`counters: ${text}`)
  if (JSON.stringify(before.otlp) !== JSON.stringify(after.otlp)) changes.push(`observability.otlp: ${text}`)
  for (const [word, fixed] of Object.entries(fixedAtStart))
    if (JSON.stringify(before.server[fixed]) !== JSON.stringify(after.server[fixed]))
      changes.push(`server.${word}: ${text}`)
  if ((before.server.tls === undefined) !== (after.server.tls === undefined)) changes.push(`server.tls: ${text}`)
  return changes
}

/** Switches of the environment that would take safety away silently. @throws Error naming the variable */
function refuseUnsafeEnvironment(env: { readonly [name: string]: string | undefined }): void {
  if (env['FORCE_FETCH_PATH'])
    throw new Error('FORCE_FETCH_PATH is set: it would send requests past the transport. Unset it.')
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Error('NODE_TLS_REJECT_UNAUTHORIZED=0 is set: upstreams would not be verified. Unset it.')
  if (env['NODE_OPTIONS']?.includes('--insecure-http-parser'))
    throw new Error('NODE_OPTIONS holds --insecure-http-parser: requests could be smuggled. Take it out.')
}
