import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { describeChanges } from '../config/index.ts'
import { findDialect, guessDialect } from '../api-formats/index.ts'
import type { CallerSocket, Engine, EngineParts } from '../engine/index.ts'
import { hasSoundHost, takeOriginForm } from '../engine/request-target.ts'
import {
  type ConfigCause,
  type Counters,
  type EndedCharge,
  type CompiledConfig,
  type ReviewStatus,
  type Storage,
  sumReviews,
  upstreamKeyView,
} from '../domain/index.ts'
import type { AnyPlugin, Log } from '../plugin-api/index.ts'
import {
  type Clock,
  type Connect,
  Ids,
  type Random,
  systemClock,
  systemRandom,
  type Timers,
  type Times,
  completeClock,
} from '../util/index.ts'
import {
  completeLog,
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
import { openCounters } from '../storage/counters/index.ts'
import { openStorage, type StartThread } from '../storage/index.ts'
import { Anchors } from './anchors.ts'
import { answerProbe } from './answer-probe.ts'
import { PipelineBuilder } from './build-pipeline.ts'
import { ApiListener } from './api-listener.ts'
import { diffConfigs } from './compare-configs.ts'
import { ConfigHistorian } from './config-history.ts'
import { ConfigEditor } from './config-editor.ts'
import { restoringEdits } from './restoring-edits.ts'
import { ConfigSource, type Environment, type GatewayConfig } from './config-source.ts'
import { ConfigError } from './config-error.ts'
import { SignedPictureLinks } from './signed-picture-links.ts'
import { type ConsoleListener, createConsoleListener, isConsolePath } from './console-listener.ts'
import { createRecorder } from './create-recorder.ts'
import { addGauges } from './gauges.ts'
import { JobRunner } from './job-runner.ts'
import { VendorKeyService } from './vendor-key-service.ts'
import { bind, type Listener, unbind } from './listeners.ts'
import { createLinkSecret } from './client-secrets.ts'
import { createLocalAnswers } from './local-answers.ts'
import { logWarnings } from './log-warnings.ts'
import { needRestart } from './need-restart.ts'
import { otherCurrency } from './other-currency.ts'
import { openTelemetry, quietTrace } from './open-telemetry.ts'
import { createOpsServer } from './ops.ts'
import { refuseUnsafeEnvironment } from './refuse-unsafe-environment.ts'
import { upstreamProxy } from './upstream-proxies.ts'
import { changedCode } from './plugin-finder.ts'
import { countSlots } from './concurrency-slots.ts'
import type { ReloadResult } from './reload-result.ts'
import { Reloads } from './reloads.ts'
import { EventPublisher } from './event-publisher.ts'
import { Retention } from './retention.ts'
import { SessionEnds } from './session-ends.ts'
import { secretsOf } from './secrets-of.ts'
import { Signers } from './signers.ts'
import { SimulatedUpstreams } from './simulated-upstreams.ts'
import { joinStatus, type ProcessStatus, type Status } from './status.ts'
import { createUnroutedLog } from './unrouted-requests.ts'
import { readVersion } from './version.ts'

/** Parts that an embedding program or a test replaces. */
export type GatewayParts = {
  readonly env?: Environment
  /** The system clock by default. A clock with only `now` uses the system's timers. */
  readonly clock?: Times & Partial<Timers>
  readonly random?: Random
  /**
   * A logger with four methods. It receives no secrets. By default the gateway's own, which writes to standard error.
   */
  readonly log?: Log | GatewayLog
  /** The store of limit counters, instead of the configured one; closed with the gateway. */
  readonly counters?: Counters
  /** Plugins in addition to the built-in ones and those that the configuration refers to by package or path. */
  readonly plugins?: readonly AnyPlugin[]
  /** The configuration if it was just read; if absent, it is read. */
  readonly plan?: CompiledConfig
  /**
   * `worker`: one of several processes that share an address and a storage, which their parent process has claimed. It
   * opens no listener for operators.
   */
  readonly role?: 'gateway' | 'worker'
  /** The name of its lease on the storage; random by default. */
  readonly owner?: string
  /** Opens connections to upstreams; the engine's own by default. */
  readonly connect?: Connect
  /** Runs the storage of a file; threads of the operating system by default. */
  readonly startThread?: StartThread
}

export type Listening = { readonly url: string; readonly opsUrl: string | undefined }

/** A running gateway. Mount `listener` in any Node server, or let it `listen` by itself. */
export type Gateway = AsyncDisposable & {
  readonly plan: CompiledConfig
  readonly storage: Storage
  readonly metrics: Metrics
  readonly log: GatewayLog
  /** The addresses of the simulated upstreams in use, by name. */
  readonly simulated: ReadonlyMap<string, string>
  readonly listener: Listener
  /** The number of exchanges that have not settled. */
  readonly open: number
  /** Whether it accepts work, including billable work. */
  readonly ready: boolean
  /** The status of this process. */
  status(): ProcessStatus
  /** Charges under review of all gateways on the storage; null while the storage is unreachable. */
  reviews(): Promise<ReviewStatus | null>
  listen(): Promise<Listening>
  /** Serves a connection that other code has accepted. */
  accept(connection: Duplex): void
  /**
   * Reads the configuration again. Either all of it takes effect, or nothing. `cause` is for the history; a program by
   * default.
   */
  reload(cause?: ConfigCause): Promise<ReloadResult>
  /** Lets running requests finish (for at most `server.drain`), writes queued data, and releases all resources. */
  close(): Promise<void>
}

/**
 * Creates a gateway from its configuration: validates it, opens the stores, recovers charges, creates the plugins.
 * @throws ConfigError if the configuration is invalid; StorageError if the stores cannot be opened
 */
export async function createGateway(config: GatewayConfig, parts: GatewayParts = {}): Promise<Gateway> {
  const env = parts.env ?? process.env
  refuseUnsafeEnvironment(env)
  const source = new ConfigSource(config, env, parts.plugins)
  const plan = parts.plan ?? (await source.readPlan())
  const base = createBase(plan, parts)
  const opened = await openStores(plan, base, parts)
  try {
    return new RunningGateway(
      source,
      parts.role ?? 'gateway',
      await startEngine(plan, source, opened, { connect: parts.connect, env }),
    )
  } catch (error) {
    for (const one of [opened.telemetry, opened.simulated, opened.counters, opened.storage]) await one?.close()
    throw error
  }
}

/** The base of all other parts: time, randomness, and the log. */
type Base = {
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly log: GatewayLog
  readonly metrics: Metrics
  readonly observers: Observers
  readonly unrecognised: UnrecognisedAnswers
}

function createBase(plan: CompiledConfig, parts: GatewayParts): Base {
  const clock = parts.clock ? completeClock(parts.clock) : systemClock
  const random = parts.random ?? systemRandom
  const log = unfailingLog(parts.log ? completeLog(parts.log) : createLog({ level: 'info', clock }))
  log.hide(secretsOf(plan))
  if (parts.role !== 'worker') logWarnings(plan, log)
  const metrics = createMetrics()
  const observers = new Observers(clock, log)
  metrics.add(() => observers.snapshots())
  return { clock, random, ids: new Ids(random), log, metrics, observers, unrecognised: new UnrecognisedAnswers() }
}

type Opened = Base & {
  readonly storage: Storage
  readonly counters: Counters
  readonly telemetry: Telemetry | undefined
  readonly simulated: SimulatedUpstreams
  readonly modules: typeof import('../engine/index.ts')
}

async function openStores(plan: CompiledConfig, base: Base, parts: GatewayParts): Promise<Opened> {
  const { clock, random, ids, log, metrics, observers } = base
  // The thread of the storage starts while this one loads the engine, so that a start takes only as long as the longer
  // of the two.
  const [storage, counters, modules] = await openAll(
    openStorage({
      url: plan.storage,
      timeZone: plan.timeZone,
      thresholds: plan.budgetThresholds,
      clock,
      ids,
      log,
      role: parts.role ?? 'gateway',
      startThread: parts.startThread,
      onCommit: observers.quiet('metrics', (...event) => metrics.committed(...event)),
      ...(parts.owner !== undefined && { owner: parts.owner }),
    }),
    parts.counters ? Promise.resolve(parts.counters) : openCounters({ url: plan.counters, clock, random, log }),
    import('../engine/index.ts'),
  )
  const telemetry = plan.otlp && (await openTelemetry(plan.otlp, { clock, random, log }))
  if (telemetry) metrics.add(() => telemetry.snapshots())
  return { ...base, storage, counters, telemetry, simulated: new SimulatedUpstreams(), modules }
}

type Started = Opened & {
  readonly engine: Engine
  readonly jobs: JobRunner
  readonly vendorKeyService: VendorKeyService
  readonly sessionEnds: SessionEnds
  /** Creates the parts of a plan: simulated upstreams, plugins, routes. */
  readonly build: (plan: CompiledConfig) => Promise<Engine['running']>
}

async function startEngine(
  plan: CompiledConfig,
  source: ConfigSource,
  opened: Opened,
  { connect, env }: { readonly connect: Connect | undefined; readonly env: Environment },
): Promise<Started> {
  const { clock, random, ids, log, metrics, observers, storage, counters, telemetry, simulated, modules } = opened
  const countCharge = observers.quiet('metrics', (charge: EndedCharge) => metrics.charged(charge))
  const traceCost = telemetry && observers.quiet('telemetry', (charge: EndedCharge) => telemetry.charged(charge))
  const onChargeFault = ({ id }: EndedCharge, plugin: string, err: unknown): void =>
    log.error({ charge: id, plugin, err }, 'a plugin failed in onCharge; the charge is unaffected')
  const charges = watchCharges(storage.ledger, charge => {
    countCharge(charge)
    traceCost?.(charge)
    const key = engine.vendorKeys.budgets.charged(charge.id, charge.amount)
    if (key) vendorKeyService.spent(key, charge.amount)
    engine.running.pipeline.onCharge(charge, onChargeFault)
  })
  const jobs = new JobRunner(storage.jobs, {
    engine: () => engine,
    keys: storage.keys,
    counters,
    ledger: charges.ledger,
    clock,
    log,
  })
  const vendorKeyService = new VendorKeyService({ store: storage.vendorKeys, engine: () => engine, clock, log })
  const sessionEnds = new SessionEnds({
    store: storage.liveSessions,
    end: id => void engine.endSession(id),
    clock,
    log,
  })
  const stores = { ...storage, ledger: charges.ledger, counters, jobs: jobs.store }
  const host = { stores, clock, random, ids, log, parseObject: modules.scanObject }
  const builder = new PipelineBuilder({ finder: () => source.finder(), host, Pipeline: modules.Pipeline })
  const signers = new Signers({
    finder: () => source.finder(),
    clock,
    log,
    post: (...args) => engine.post(...args),
  })
  const build: Started['build'] = async plan => {
    await simulated.start(plan)
    await signers.build(plan)
    const pipeline = await builder.build(plan)
    metrics.know({
      operations: plan.routes.map(route => route.operation),
      models: [...plan.models.keys(), ...(plan.wildcards ?? []).map(({ name }) => name)],
      wildcards: (plan.wildcards ?? []).map(({ name }) => name),
      upstreams: plan.upstreams.keys(),
      ...(plan.metricsBy && { by: plan.metricsBy }),
    })
    return { plan, pipeline, router: new modules.Router(plan.routes) }
  }
  const count = (...event: Parameters<Metrics['unrouted']>): void => metrics.unrouted(...event)
  const unrouted = createUnroutedLog({ clock, log, count, plan: () => engine.running.plan })
  const parts: EngineParts = {
    dialect: (name, head) => findDialect(name, head),
    guessDialect,
    local: createLocalAnswers(storage, clock.now(), { clock, random }),
    objects: storage.objects,
    createLinkSecret: (context, model, expiresAt) => createLinkSecret({ storage, random }, context, model, expiresAt),
    openJobs: storage.jobs,
    resolveUrl: url => simulated.resolve(url),
    began: observers.quiet('metrics', () => metrics.began()),
    upstreamAnswered: observers.quiet('metrics', (...event) => metrics.upstreamAnswered(...event)),
    retried: observers.quiet('metrics', (...event) => metrics.retried(...event)),
    turnWasLong: observers.quiet('metrics', ({ step }) => metrics.turnWasLong(step)),
    record: createRecorder({ ...opened, charges }),
    unrouted: observers.quiet('metrics', (...event) => unrouted.unrouted(...event)),
    unread: observers.quiet('metrics', (...event) => unrouted.unread(...event)),
    ...(telemetry && { trace: quietTrace(telemetry, observers) }),
    clock,
    random,
    ids,
    connect,
    signerOf: signers.of,
    proxyOf: (upstream, url) => upstreamProxy(env, upstream, url),
    log,
    counters,
    keyChanged: vendorKeyService.changed,
    sessionOpened: sessionEnds.opened,
    sessionClosed: sessionEnds.closed,
  }
  const engine = new modules.Engine(parts, await build(plan))
  await vendorKeyService.start()
  return { ...opened, build, engine, jobs, vendorKeyService, sessionEnds }
}

const start: ConfigCause = { how: 'start', by: null }

class RunningGateway implements Gateway {
  readonly listener: Listener
  readonly #parts: Started
  readonly #source: ConfigSource
  readonly #role: 'gateway' | 'worker'
  readonly #startedAt: number
  readonly #reloads: Reloads
  readonly #callers: ApiListener
  readonly #console: ConsoleListener
  readonly #handed: SignedPictureLinks
  readonly #retention: Retention
  readonly #anchors: Anchors
  readonly #publisher: EventPublisher
  readonly #history: ConfigHistorian
  readonly #probed: Parameters<typeof answerProbe>[2]
  #ops: Server | undefined
  #closing: Promise<void> | undefined

  constructor(source: ConfigSource, role: 'gateway' | 'worker', parts: Started) {
    const { clock, log, metrics, storage, counters, engine, telemetry } = parts
    this.#parts = parts
    this.#source = source
    this.#role = role
    this.#startedAt = clock.now()
    // Of several processes, only the supervisor records it.
    this.#reloads = new Reloads(
      clock,
      role === 'worker' ? undefined : log,
      cause => this.#readAgain(cause),
      event => this.#publisher.reloaded(event),
    )
    if (role !== 'worker') metrics.add(() => this.#reloads.snapshots())
    this.listener = (req, res, socket) => this.#handle(req, res, socket)
    this.#probed = {
      hasRoute: path => engine.running.router.find('GET', path).kind !== 'none',
      isReady: () => this.ready,
      nextId: () => parts.ids.next('req_', clock.now()),
    }
    this.#callers = new ApiListener({ listener: this.listener, engine, clock, log })
    engine.serveSelf(connection => this.#callers.accept(connection))
    const { connections } = this.#callers
    addGauges(metrics, { clock, storage, counters, engine, connections, plan: () => this.plan })
    this.#retention = new Retention({
      storage,
      clock,
      log,
      keptMs: () => this.plan.logRetentionMs,
      reviewMs: () => this.plan.reviewRetentionMs,
      labelsMs: () => this.plan.labelRetentionMs,
      events: () => {
        const { eventRetentionMs: keptMs, webhooks } = this.plan
        return keptMs === undefined ? undefined : { keptMs, webhooks: [...(webhooks?.keys() ?? [])] }
      },
    })
    this.#anchors = new Anchors({ storage, clock, log, report: anchor => telemetry?.anchored(anchor) })
    this.#publisher = new EventPublisher({ storage, clock, log, metrics, receivers: () => this.plan.webhooks })
    this.#history = new ConfigHistorian({ storage, clock, log })
    this.#handed = new SignedPictureLinks(hash => storage.keys.findByHash(hash))
    this.#console = this.#createConsole()
    parts.jobs.start()
    void this.#introduce()
    // A worker's initial configuration may be outdated: it gets the current one before it listens.
    if (role !== 'worker') this.#history.took(this.plan, start)
  }

  get plan(): CompiledConfig {
    return this.#parts.engine.running.plan
  }

  get storage(): Storage {
    return this.#parts.storage
  }

  get metrics(): Metrics {
    return this.#parts.metrics
  }

  get log(): GatewayLog {
    return this.#parts.log
  }

  get simulated(): ReadonlyMap<string, string> {
    return this.#parts.simulated.addresses
  }

  get open(): number {
    return this.#parts.engine.open
  }

  get ready(): boolean {
    return this.#closing === undefined && this.storage.ledger.healthy()
  }

  #createConsole(): ConsoleListener {
    const { storage, clock, random, ids, log, counters, engine, vendorKeyService } = this.#parts
    const reloads = this.#reloads
    const isOwn = this.#role !== 'worker'
    const edits = new ConfigEditor(
      this.#source,
      () => this.plan,
      isOwn ? by => reloads.run({ how: 'edit', by }) : undefined,
    )
    return createConsoleListener({
      storage,
      clock,
      random,
      ids,
      log,
      plan: () => this.plan,
      facts: {
        startedAt: this.#startedAt,
        loadedAt: () => reloads.loadedAt,
        lastReload: () => reloads.last,
        simulated: () => [...this.simulated.keys()],
        open: () => engine.open,
        countersHealthy: () => counters.healthy(),
        certificateEnds: () => this.#callers.certificateEnds,
        heldBytes: () => engine.heldBytes,
        connections: () => this.#callers.connections.open,
        bounds: () => {
          const { connectionsMax, memoryBytesMax } = this.plan.server
          return { connections: connectionsMax ?? null, heldBytes: memoryBytesMax }
        },
        places: () => countSlots(this.plan, counters),
        connectionsTo: upstream => engine.connectionsOf(upstream),
        upstreamHealthy: name => !engine.isPaused(name),
      },
      upstreams: {
        report: upstream => engine.vendorKeys.report(upstream),
        restMs: name => engine.restMs(name),
        test: key => engine.probe(key),
        learn: () => vendorKeyService.learn(),
      },
      wasHanded: (user, keyName, url) => this.#handed.has(user, keyName, url),
      costUnder: async (terms, span, signal) => {
        const loaded =
          'text' in terms ? await this.#source.judgeForeign(terms.text, this.plan) : await edits.planOf(terms.edits)
        if ('why' in loaded || !loaded.ok) return loaded
        const { replayCosts } = await import('./what-if.ts')
        return { ok: true, costs: await replayCosts(loaded.plan, storage.books, span, { signal, inUse: this.plan }) }
      },
      reload: isOwn ? by => reloads.run({ how: 'console', by }) : undefined,
      history: {
        compare: diffConfigs,
        restore: async kept => {
          const then = await this.#source.listKept(kept, this.plan)
          return then && restoringEdits(await edits.list(), then)
        },
        cost: async (kept, span, signal) => {
          const loaded = await this.#source.judgeKept(kept, this.plan)
          if (!loaded?.ok) return loaded
          const { replayCosts } = await import('./what-if.ts')
          return { ok: true, costs: await replayCosts(loaded.plan, storage.books, span, { signal, inUse: this.plan }) }
        },
      },
      check: text => this.#source.check(text, this.plan),
      show: () => this.#source.show(),
      edits,
    })
  }

  #handle(req: IncomingMessage, res: ServerResponse, socket?: CallerSocket): void {
    takeOriginForm(req)
    const isConsoles = isConsolePath(req.url ?? '') && this.plan.server.console
    // The engine refuses requests without a model, in the caller's API format.
    if (isConsoles && hasSoundHost(req)) this.#console.handle(req, res)
    else if (!answerProbe(req, res, this.#probed)) {
      if (this.plan.server.console) this.#handed.watch(req, res)
      void this.#parts.engine.handle(req, res, socket)
    }
  }

  async listen(): Promise<Listening> {
    const url = await this.#callers.listen()
    if (this.#role === 'worker') this.#history.took(this.plan, start)
    const { ops } = this.plan.server
    if (!ops || this.#role === 'worker') return { url, opsUrl: undefined }
    this.#ops = createOpsServer({
      metrics: this.metrics,
      isReady: () => this.ready,
      trouble: () => this.storage.ledger.trouble?.(),
      status: () => this.#fullStatus(),
      settings: () => this.#settings(),
      reload: () => this.#reloads.runReported({ how: 'command', by: null }),
    })
    return { url, opsUrl: (await bind(this.#ops, ops)).url }
  }

  accept(connection: Duplex): void {
    this.#callers.accept(connection)
  }

  status(): ProcessStatus {
    const { engine, metrics, storage, counters, unrecognised } = this.#parts
    return {
      pid: process.pid,
      ready: this.ready,
      open_requests: engine.open,
      memory: process.memoryUsage.rss(),
      event_loop_p99_ms: metrics.delayMs(),
      storage_healthy: storage.ledger.healthy(),
      storage_trouble: storage.ledger.trouble?.() ?? null,
      counters_healthy: counters.healthy(),
      resting_ms: Object.fromEntries(
        [...this.plan.upstreams.keys()].map(name => [name, Math.ceil(engine.restMs(name))]),
      ),
      upstream_keys: this.#keysOfUpstreams(),
      silent_webhooks: this.#publisher.silent,
      unrecognised: unrecognised.list(),
    }
  }

  #keysOfUpstreams(): ProcessStatus['upstream_keys'] {
    const { vendorKeys } = this.#parts.engine
    const withKeys = [...this.plan.upstreams.values()].filter(({ keys }) => keys !== undefined)
    return Object.fromEntries(
      withKeys.map(upstream => [upstream.name, vendorKeys.report(upstream).map(upstreamKeyView.show)]),
    )
  }

  async reviews(): Promise<ReviewStatus | null> {
    try {
      return sumReviews(await this.storage.books.open())
    } catch {
      // Another field reports that the storage is unreachable.
      return null
    }
  }

  async #fullStatus(): Promise<Status> {
    const { loadedAt, status: lastReload } = this.#reloads
    const now = this.#parts.clock.now()
    const life = { version: await readVersion(), startedAt: this.#startedAt, now, loadedAt, lastReload }
    return joinStatus(this.plan, life, [this.status()], await this.reviews())
  }

  #settings() {
    const { plan } = this
    return { revision: plan.revision, file: plan.file, settings: plan.settings }
  }

  reload(cause: ConfigCause = { how: 'program', by: null }): Promise<ReloadResult> {
    return this.#reloads.run(cause)
  }

  async #readAgain(cause: ConfigCause): Promise<ReloadResult> {
    const { engine, log, build, vendorKeyService } = this.#parts
    const next = await this.#source.read(this.plan)
    if (!next.ok) return next
    log.hide(secretsOf(next.plan))
    const before = this.plan
    const other = otherCurrency(before, next.plan)
    if (other) return { ok: false, findings: [other] }
    const changes = [
      ...describeChanges(before, next.plan),
      ...needRestart(before, next.plan),
      ...(await changedCode(this.#source.file, next.plan)),
    ]
    try {
      const running = await build(next.plan)
      await vendorKeyService.prepare(next.plan)
      engine.swap(running)
    } catch (error) {
      // A plugin that cannot be created is a fault of the configuration.
      if (error instanceof ConfigError) return { ok: false, findings: error.findings }
      throw error
    }
    if (this.#role !== 'worker') logWarnings(next.plan, log)
    this.#publisher.follow()
    void this.#introduce()
    this.#history.took(next.plan, cause, before)
    const unfit = this.#callers.renew(next.plan.server)
    const notes: string[] = unfit === undefined ? [] : [`server.tls: the old certificate stays in use: ${unfit}`]
    notes.push(...(await this.#barred(before)))
    return { ok: true, revision: next.plan.revision, changes: [...changes, ...notes] }
  }

  /** Groups that the new configuration lacks although users or keys belong to them, one line each. */
  async #barred({ groups }: CompiledConfig): Promise<readonly string[]> {
    const gone = [...groups.keys()].filter(name => !this.plan.groups.has(name))
    if (gone.length === 0) return []
    try {
      const [users, keys] = await Promise.all([this.storage.users.list(), this.storage.keys.list()])
      return gone.flatMap(name => {
        const people = users.filter(one => one.status === 'active' && one.group === name).length
        const own = keys.filter(one => one.status === 'active' && one.group === name).length
        if (people + own === 0) return []
        return `groups.${name} was removed, but ${people} people and ${own} keys are in it; they are refused (group_unknown)`
      })
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the members of removed groups could not be read')
      return []
    }
  }

  /** Publishes the state of this gateway to the other gateways on the storage. */
  async #introduce(): Promise<void> {
    try {
      await this.storage.watch.introduce({ version: await readVersion(), revision: this.plan.revision })
    } catch (error) {
      this.log.debug({ err: error }, 'the status of this gateway could not be stored')
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#shut())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #shut(): Promise<void> {
    const { engine, clock, jobs, vendorKeyService, sessionEnds, log } = this.#parts
    const { metrics, storage, counters, telemetry, simulated } = this.#parts
    this.#callers.release()
    await this.#publisher.close()
    await this.#history.close()
    await this.#retention.close()
    await this.#console.close()
    await this.#callers.close()
    // The next start, or another process, resumes jobs without a client.
    engine.stop()
    await jobs.stop()
    await vendorKeyService.stop()
    await sessionEnds.close()
    this.#ops?.closeAllConnections()
    if (this.#ops) await unbind(this.#ops, clock)
    await engine.close()
    await this.#anchors.close()
    await telemetry?.close()
    await simulated.close()
    metrics.close()
    await counters.close()
    await storage.close()
    await log.flush()
  }
}

type Closable = { close(): Promise<void> }

/** Opens stores in parallel. If one fails, the others are closed, because they would keep the process alive. */
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
