import cluster, { type Worker as Child } from 'node:cluster'
import type { Server } from 'node:http'
import { getCompileCacheDir } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closeLost } from './close-lost.ts'
import { ConfigError } from './config-error.ts'
import { type Loaded, loadPlan } from '../config/index.ts'
import type { GatewayParts, Listening } from './gateway.ts'
import { logWarnings } from './log-warnings.ts'
import type { ReloadResult } from './reload-result.ts'
import { Ids } from '../util/ids.ts'
import type { ConfigCause, CompiledConfig, ReviewStatus } from '../domain/index.ts'
import { readRegular, systemClock } from '../util/index.ts'
import { knownNames } from './known-names.ts'
import { bind, unbind } from './listeners.ts'
import {
  completeLog,
  createLog,
  exposeTogether,
  gaugeSnapshot,
  type GatewayLog,
  type Snapshot,
  sumCounts,
} from '../observe/index.ts'
import { createOpsServer } from './ops.ts'
import { pluginFinder } from './plugin-finder.ts'
import { Reloads } from './reloads.ts'
import { joinStatus, type ProcessStatus, type Status } from './status.ts'
import { type Claim, claimStorage } from '../storage/index.ts'
import { readVersion } from './version.ts'
import type { FromWorker, WorkerRequest, WorkerRequests, StartFailure, ToWorker, Written } from './worker-messages.ts'

/** A worker that ends this many times in a row before it is ready is not started again. */
const failedStartsMax = 5
const restartMs = { first: 100, most: 5_000 }
/** A worker that ran for this time did not fail at its start. */
const soundMs = 10_000
/** The timeout for a worker's response. */
const answerMs = 2_000
/** A worker that was silent for this time counts as hung, because its lease on the storage has expired too. */
const hangMs = 30_000
/**
 * The number of requests to a worker in that time. A single missing response is not enough, because all processes may
 * have been stopped.
 */
const pulses = 6
/** Longer, because a reload creates all plugins again. */
const reloadMs = 30_000
/** The time after a worker's deadlines for its last writes and its exit. */
const endMs = 20_000

/** Several gateways in separate processes, on one address and one storage. */
export type Workers = {
  readonly plan: CompiledConfig
  readonly log: GatewayLog
  readonly listening: Listening
  readonly simulated: readonly string[]
  readonly pids: readonly number[]
  /** Unfinished exchanges in all of them. */
  open(): Promise<number>
  /** Reads the file again. Either all of it takes effect in every worker, or nothing. */
  reload(cause?: ConfigCause): Promise<ReloadResult>
  /** Settles if workers no longer start; the caller must then close them. */
  readonly failed: Promise<Error>
  /** Lets every worker finish its requests. @throws Error if a worker had to be killed */
  close(): Promise<void>
  /** Kills them immediately. */
  kill(): void
}

export type WorkersParts = Pick<GatewayParts, 'env' | 'log'> & {
  /** The maximum silence of a worker, in milliseconds; 30 s by default. Tests shorten it. */
  readonly hangMs?: number
}

/**
 * Starts `server.workers` gateways, and replaces each one that ends.
 * @throws ConfigError, StorageError, or the error that prevented the first workers from starting
 */
export async function startWorkers(file: string, parts: WorkersParts = {}): Promise<Workers> {
  const read = (inUse?: CompiledConfig) => readConfig(file, parts.env ?? process.env, inUse)
  const started = await read()
  if (!started.loaded.ok) throw new ConfigError(started.loaded.findings)
  const log = parts.log ? completeLog(parts.log) : createLog({ level: started.loaded.plan.server.logLevel })
  const { storage: url, timeZone, budgetThresholds: thresholds } = started.loaded.plan
  const claim = await claimStorage({ url, timeZone, thresholds, clock: systemClock, log })
  const crew = new Crew(
    { file, written: started.written, env: parts.env ?? {}, hangMs: parts.hangMs ?? hangMs },
    started.loaded.plan,
    log,
    claim,
  )
  let ops: Server | undefined
  let closing: Promise<void> | undefined

  async function listen(): Promise<Listening> {
    const { url } = await crew.start()
    const address = crew.plan.server.ops
    if (!address) return { url, opsUrl: undefined }
    const metrics = { expose: async () => exposeTogether([...(await crew.snapshots()), reloads.snapshots()]) }
    const isReady = async () => closing === undefined && (await crew.isReady())
    const settings = () => ({
      revision: crew.plan.revision,
      file: crew.plan.file,
      settings: crew.plan.settings,
    })
    ops = createOpsServer({
      metrics,
      isReady,
      status,
      settings,
      reload: () => reloads.runReported({ how: 'command', by: null }),
    })
    return { url, opsUrl: (await bind(ops, address)).url }
  }

  async function shut(): Promise<void> {
    const left = await crew.close()
    ops?.closeAllConnections()
    if (ops) await unbind(ops, systemClock)
    await claim.release()
    await log.flush()
    if (left.length > 0) throw new Error(`${left.join(', ')} did not stop without an error`)
  }

  const startedAt = systemClock.now()
  const reloads = new Reloads(systemClock, log, async cause => {
    const { written, loaded } = await read(crew.plan)
    if (!loaded.ok) return loaded
    logWarnings(loaded.plan, log)
    return crew.reload({ ...written, cause }, loaded.plan)
  })

  async function status(): Promise<Status> {
    const { loadedAt, status: lastReload } = reloads
    const life = { version: await readVersion(), startedAt, now: systemClock.now(), loadedAt, lastReload }
    const own = closing === undefined
    const workers = (await crew.statuses()).map(one => ({ ...one, ready: one.ready && own }))
    return joinStatus(crew.plan, life, workers, await crew.reviews())
  }

  const listening = await listen().catch(async (error: unknown) => {
    crew.kill()
    await crew.close()
    await claim.release()
    throw error
  })
  return {
    get plan() {
      return crew.plan
    },
    get pids() {
      return crew.pids
    },
    log,
    listening,
    simulated: crew.simulated,
    reload: (cause = { how: 'program', by: null }) => reloads.run(cause),
    failed: crew.failed,
    open: async () => (await crew.states()).reduce((sum, { open }) => sum + open, 0),
    close: () => (closing ??= shut()),
    kill: () => crew.kill(),
  }
}

async function readConfig(
  file: string,
  env: NodeJS.ProcessEnv,
  inUse?: CompiledConfig,
): Promise<{ written: Written; loaded: Loaded }> {
  const text = await readRegular(file).catch(() => undefined)
  // Without a text, reading the file reports its problem.
  const content = text === undefined ? {} : { text }
  const loaded = await loadPlan({
    file,
    ...content,
    again: true,
    env,
    ...(inUse && { inUse }),
    ...pluginFinder(file),
    known: knownNames,
  })
  return { written: { text: text ?? '', parts: loaded.ok ? loaded.parts : {} }, loaded }
}

/** The initial configuration of every worker. */
type Start = {
  readonly file: string
  readonly written: Written
  readonly env: NodeJS.ProcessEnv
  readonly hangMs: number
}

/** The worker processes, and the replacements for those that ended. */
class Crew {
  plan: CompiledConfig
  simulated: readonly string[] = []
  readonly failed: Promise<Error>
  readonly #start: Start
  readonly #log: GatewayLog
  readonly #claim: Claim
  readonly #members = new Set<Member>()
  /** Undefined while the initial configuration is active. */
  #current: Written | undefined
  #giveUp!: (error: Error) => void
  /** The number of consecutive exits before, or soon after, a complete start. */
  #failedStarts = 0
  #restarts = 0
  readonly #ids = new Ids()
  #soonEnded = 0
  #closing = false
  /** The metrics of ended workers. */
  #counted: readonly Snapshot[] = []

  constructor(start: Start, plan: CompiledConfig, log: GatewayLog, claim: Claim) {
    this.#start = start
    this.plan = plan
    this.#log = log
    this.#claim = claim
    this.failed = new Promise(resolve => {
      this.#giveUp = resolve
    })
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url)),
      args: [],
    })
  }

  get pids(): readonly number[] {
    return [...this.#members].map(member => member.pid)
  }

  /** Resolves when all workers listen. @throws Error the error of the first worker that failed */
  async start(): Promise<{ readonly url: string }> {
    const { workers } = this.plan.server
    const count = workers === 'auto' ? availableParallelism() : workers
    const members = Array.from({ length: count }, () => this.#add())
    const listening = await Promise.all(members.map(member => member.listening))
    const [{ url, simulated }] = listening as [(typeof listening)[number]]
    this.simulated = simulated
    // One that listened may have ended since.
    for (const member of members) this.#watch(member)
    return { url }
  }

  async statuses(): Promise<readonly ProcessStatus[]> {
    const statuses = await Promise.all(
      [...this.#members].map(member => member.ask('status', null).catch(() => undefined)),
    )
    return statuses.filter(one => one !== undefined)
  }

  /** Charges under review, from the first worker that knows them. */
  async reviews(): Promise<ReviewStatus | null> {
    const replies = [...this.#members].map(async member => {
      const reviews = await member.ask('reviews', null)
      if (reviews === null) throw new Error('not known')
      return reviews
    })
    return Promise.any(replies).catch(() => null)
  }

  /** Whether a worker accepts work: the first such reply decides, even if others are silent or still starting. */
  isReady(): Promise<boolean> {
    const ready = [...this.#members].map(async member => {
      if (!(await member.ask('state', null)).ready) throw new Error('not ready')
    })
    return Promise.any(ready).then(
      () => true,
      () => false,
    )
  }

  async states(): Promise<readonly WorkerRequests['state']['gives'][]> {
    const states = await Promise.all([...this.#members].map(member => member.ask('state', null).catch(() => undefined)))
    return states.filter(state => state !== undefined)
  }

  /** The metrics of all workers, of ended workers, and of the supervisor. */
  async snapshots(): Promise<readonly (readonly Snapshot[])[]> {
    const lists = await Promise.all([...this.#members].map(member => member.measure()))
    const restarts = 'Workers that replaced one that ended.'
    const own: readonly Snapshot[] = [
      gaugeSnapshot('tollgate_workers', 'Worker processes.', this.#members.size),
      { ...gaugeSnapshot('tollgate_worker_restarts_total', restarts, this.#restarts), type: 'counter' },
    ]
    return [...lists, this.#counted, own]
  }

  /** `Reloads` calls this one reload after another. */
  async reload(
    { cause, ...written }: Written & { readonly cause: ConfigCause },
    plan: CompiledConfig,
  ): Promise<ReloadResult> {
    const members = [...this.#members]
    const take = (member: Member) => member.ask('reload', { ...written, cause })
    const results = await Promise.allSettled(members.map(take))
    const taken = results.find(result => result.status === 'fulfilled' && result.value.ok)
    if (!taken || taken.status === 'rejected') {
      const [first] = results
      if (first?.status === 'fulfilled') return first.value
      throw first?.reason ?? new Error('no worker is running')
    }
    this.#current = written
    this.plan = plan
    // Workers that were started meanwhile have the former configuration.
    const added = [...this.#members].filter(member => !members.includes(member))
    results.push(...(await Promise.allSettled(added.map(take))))
    for (const [i, member] of [...members, ...added].entries()) {
      const result = results[i]
      if (result === taken || (result?.status === 'fulfilled' && result.value.ok)) continue
      this.#log.error({ pid: member.pid }, 'a worker did not accept the new configuration; replacing it')
      member.send({ kind: 'close' })
    }
    return taken.value
  }

  /** @returns workers that did not exit themselves, or exited with an error */
  async close(): Promise<readonly string[]> {
    this.#closing = true
    const { drainMs, drainWaitMs } = this.plan.server
    const members = [...this.#members]
    for (const member of members) member.send({ kind: 'close' })
    const ended = Promise.all(members.map(member => member.gone))
    await Promise.race([ended, pause(drainWaitMs + drainMs + endMs)])
    this.kill()
    const codes = await ended
    return members.flatMap(({ pid }, i) => (codes[i] === 0 ? [] : [`worker ${pid} (${codes[i]})`]))
  }

  kill(): void {
    this.#closing = true
    for (const member of this.#members) member.kill()
  }

  #add(): Member {
    const owner = this.#ids.next('worker_', systemClock.now())
    const { file, written, env } = this.#start
    const current = this.#current
    const member = new Member({ file, first: written, ...(current && { current }), owner }, env)
    this.#members.add(member)
    member.listening.then(
      () => this.#mind(member),
      () => undefined,
    )
    void member.gone.then(() => {
      this.#members.delete(member)
      if (!this.#closing) void this.#endLease(owner)
    })
    return member
  }

  /** Kills a hung worker: it still gets connections, but never answers them. */
  async #mind(member: Member): Promise<void> {
    const { hangMs } = this.#start
    for (let missed = 0; missed < pulses; ) {
      const pulse = pause(hangMs / pulses)
      missed = await member.ask('state', null, hangMs / pulses).then(
        () => 0,
        () => missed + 1,
      )
      await pulse
      if (this.#closing || !this.#members.has(member)) return
    }
    this.#log.error({ pid: member.pid, ms: hangMs }, 'a worker does not respond; stopping it')
    member.kill()
  }

  /** Ends the lease of an ended worker, so that the others take over its open work at once. */
  async #endLease(owner: string): Promise<void> {
    try {
      await this.#claim.forget(owner)
    } catch (error) {
      this.#log.warn({ err: error }, 'the lease of an ended worker could not be released; it will expire')
    }
  }

  /** Replaces a worker when it ends. */
  #watch(member: Member): void {
    void member.gone.then(async code => {
      if (this.#closing) return
      this.#counted = await sumCounts([this.#counted, member.measured])
      this.#log.error({ pid: member.pid, code }, 'a worker ended; replacing it')
      this.#soonEnded = member.ageMs < soundMs ? this.#soonEnded + 1 : 0
      await systemClock.sleep(Math.min(restartMs.first * 2 ** this.#soonEnded, restartMs.most))
      if (!this.#closing) this.#replace()
    })
  }

  #replace(): void {
    const next = this.#add()
    this.#restarts++
    this.#watch(next)
    next.listening.then(
      () => {
        this.#failedStarts = 0
      },
      (error: Error) => {
        if (this.#closing) return
        this.#failedStarts++
        this.#log.error({ pid: next.pid, reason: error.message }, 'a worker could not start')
        if (this.#failedStarts === failedStartsMax) this.#giveUp(error)
      },
    )
  }
}

/** A delay that does not keep the process alive. */
function pause(ms: number): Promise<void> {
  return new Promise(resolve => void systemClock.after(ms, resolve))
}

/** One worker process. */
class Member {
  readonly pid: number
  readonly listening: Promise<Extract<FromWorker, { kind: 'listening' }>>
  /** Its exit code, or the signal that ended it. */
  readonly gone: Promise<number | string>
  /** Its metrics at the last scrape. */
  measured: readonly Snapshot[] = []
  readonly #child: Child
  readonly #startedAt = systemClock.tick()
  readonly #pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  #id = 0

  constructor(config: Extract<ToWorker, { kind: 'start' }>['config'], env: NodeJS.ProcessEnv) {
    const compiled = getCompileCacheDir()
    const child = cluster.fork({
      // glibc keeps freed memory for each thread. Two arenas save a busy process 57 MB without extra CPU time.
      MALLOC_ARENA_MAX: process.env['MALLOC_ARENA_MAX'] ?? '2',
      ...env,
      ...(compiled !== undefined && { NODE_COMPILE_CACHE: dirname(compiled) }),
    })
    this.#child = child
    this.pid = child.process.pid ?? 0
    // A message to a worker that has just ended fails; the exit is reported separately.
    child.on('error', () => undefined)
    const { promise: gone, resolve: goes } = Promise.withResolvers<number | string>()
    this.gone = gone
    child.once('exit', (code: number | null, signal: string | null) => goes(code ?? signal ?? 'unknown'))
    closeLost(child.process)
    const { promise, resolve, reject } = Promise.withResolvers<Extract<FromWorker, { kind: 'listening' }>>()
    this.listening = promise
    promise.catch(() => undefined)
    void gone.then(code => {
      const error = new Error(`worker ${this.pid} ended (${code})`)
      reject(error)
      for (const request of this.#pending.values()) request.reject(error)
    })
    child.on('message', (message: FromWorker) => {
      if (message.kind === 'listening') resolve(message)
      else if (message.kind === 'failed') reject(toError(message.failure))
      else if (message.kind === 'answer') this.#pending.get(message.id)?.resolve(message.value)
      else this.#pending.get(message.id)?.reject(new Error(message.message))
    })
    this.send({ kind: 'start', config })
  }

  get ageMs(): number {
    return systemClock.tick() - this.#startedAt
  }

  send(message: ToWorker): void {
    if (this.#child.isConnected()) this.#child.send(message)
  }

  kill(): void {
    this.#child.process.kill('SIGKILL')
  }

  /**
   * A worker that is still starting gets the request afterwards. @throws Error if it does not respond in time, or ends
   */
  async ask<Q extends WorkerRequest>(
    question: Q,
    given: WorkerRequests[Q]['given'],
    limitMs = question === 'reload' ? reloadMs : answerMs,
  ): Promise<WorkerRequests[Q]['gives']> {
    const id = ++this.#id
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(id, { resolve, reject })
    const limit = systemClock.after(limitMs, () => reject(new Error(`worker ${this.pid} does not respond`)))
    this.listening.then(
      () => this.send({ kind: 'question', id, question, given }),
      () => undefined,
    )
    try {
      // `WorkerRequests` defines the type of each response.
      return (await promise) as WorkerRequests[Q]['gives']
    } finally {
      limit.cancel()
      this.#pending.delete(id)
    }
  }

  /** The worker's metrics; the last known ones if it does not respond. */
  async measure(): Promise<readonly Snapshot[]> {
    this.measured = await this.ask('metrics', null).catch(() => this.measured)
    return this.measured
  }
}

function toError({ name, message, ...more }: StartFailure): Error {
  return Object.assign(new Error(message), { name, ...more })
}
