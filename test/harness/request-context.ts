import { scanObject } from '../../src/engine/fields.ts'
import { openai } from '../../src/api-formats/openai.ts'
import {
  type Body,
  Failure,
  type Family,
  type Group,
  type Key,
  type Limits,
  type Model,
  type CompiledConfig,
  type Route,
  Slots,
  type Stores,
  type Upstream,
} from '../../src/domain/index.ts'
import type { RequestContext, Host, Log, Target } from '../../src/plugin-api/index.ts'
import { type Clock, Ids, systemRandom, systemClock, systemTimers } from '../../src/util/index.ts'
import { operationTraits } from '../../src/operations/index.ts'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'

/** A clock that runs only when it is moved. `jump` moves only the wall clock, like an NTP step. */
export class HandClock implements Clock {
  /** Timers use the system's time. */
  readonly after: Clock['after'] = (ms, run) => systemTimers.after(ms, run)
  readonly every: Clock['every'] = (ms, run) => systemTimers.every(ms, run)
  readonly sleep: Clock['sleep'] = (ms, signal) => systemTimers.sleep(ms, signal)
  /** The total by which it was moved. */
  protected moved = 0
  #wall = Date.UTC(2026, 10, 20)
  now = (): number => this.#wall + this.moved
  tick = (): number => this.moved
  move(ms: number): void {
    this.moved += ms
  }
  jump(ms: number): void {
    this.#wall += ms
  }
}

/** A running clock that can be moved ahead: for tests that wait for something in vain. */
export class RunningClock extends HandClock {
  readonly #began = systemClock.tick()
  override now = (): number => Math.floor(Date.UTC(2026, 10, 20) + this.tick())
  override tick = (): number => this.moved + systemClock.tick() - this.#began
}

/** The log lines, as [level, facts, text]. */
export class KeptLog implements Log {
  readonly lines: [string, object, string][] = []
  debug = (facts: object, text: string): void => void this.lines.push(['debug', facts, text])
  info = (facts: object, text: string): void => void this.lines.push(['info', facts, text])
  warn = (facts: object, text: string): void => void this.lines.push(['warn', facts, text])
  error = (facts: object, text: string): void => void this.lines.push(['error', facts, text])
}

const origin = { file: 'gateway.yaml', line: 1, col: 1 }

export function someGroup(more: Partial<Group> = {}): Group {
  return { name: 'default', limits: {}, limitScope: 'key', multiplier: '1', ...more }
}

export function someKey(more: Partial<Key> = {}): Key {
  return {
    id: 'key_1',
    name: 'first',
    user: 'local',
    kind: 'key',
    group: null,
    userGroup: 'default',
    userStatus: 'active',
    userBudget: null,
    userBudgetPeriod: 'total',
    userBudgetSoft: false,
    userBalance: null,
    hint: 'sk-abcd…wxyz',
    status: 'active',
    expiresAt: null,
    oldUntil: null,
    models: null,
    ips: null,
    tags: null,
    cache: null,
    limits: {},
    budget: null,
    budgetPeriod: 'total',
    budgetSoft: false,
    bounds: {},
    spent: 0,
    spentIn: { day: { from: 0, spent: 0 }, month: { from: 0, spent: 0 }, days: [] },
    held: 0,
    createdAt: 0,
    lastUsedAt: null,
    ...more,
  }
}

export function somePlan(groups: readonly Group[] = [someGroup()]): CompiledConfig {
  return {
    revision: '0123456789ab',
    file: 'gateway.yaml',
    settings: {},
    secretFiles: new Map(),
    currency: 'USD',
    timeZone: 'UTC',
    budgetThresholds: [80, 100],
    server: {
      listen: { host: '127.0.0.1', port: 0 },
      ops: undefined,
      bodyBytesMax: 1,
      logLevel: 'info',
      memoryBytesMax: 1,
      spoolBytesMax: 1,
      workers: 1,
      drainMs: 1,
      drainWaitMs: 0,
      heartbeatMs: undefined,
      agentsAccepting102: [],
      corsOrigins: [],
      console: false,
    },
    storage: 'sqlite::memory:',
    counters: 'memory:',
    groups: new Map(groups.map(group => [group.name, group])),
    upstreams: new Map(),
    pipeline: [],
    plugins: { inUse: [], known: [] },
    families: new Map(),
    models: new Map(),
    routes: [],
  }
}

/** A host for plugins that use no store but the counters; `stores` adds others. */
export function someHost(more: Partial<Host> = {}): Host {
  const kept = new Map<string, unknown>()
  const clock = more.clock ?? new HandClock()
  return {
    stores: { counters: new MemoryCounters(clock) } as unknown as Stores,
    clock,
    random: systemRandom,
    ids: new Ids(),
    plan: somePlan(),
    log: new KeptLog(),
    parseObject: scanObject,
    keep<T>(name: string, create: () => T): T {
      if (!kept.has(name)) kept.set(name, create())
      return kept.get(name) as T
    },
    ...more,
  }
}

export function someRoute(more: Partial<Route> = {}): Route {
  const path = more.path ?? '/v1/images/generations'
  const operation = more.operation ?? 'image.generate'
  const traits = operationTraits.get(operation)
  return {
    method: 'POST',
    path,
    upstreamPath: path,
    stream: 'field',
    origin,
    operation,
    ...(traits && { traits }),
    dialect: 'openai',
    body: 'json',
    bodyBytesMax: 1,
    reuse: undefined,
    serve: undefined,
    ...more,
  }
}

let exchanges = 0

export function someExchange(
  more: {
    plan?: CompiledConfig
    route?: Partial<Route>
    headers?: RequestContext['head']['headers']
    remote?: string
  } = {},
): RequestContext {
  const route = someRoute(more.route)
  return {
    id: `req_${++exchanges}`,
    startedAt: 0,
    head: {
      method: route.method,
      path: route.path,
      query: '',
      headers: more.headers ?? {},
      remote: more.remote ?? '192.0.2.1',
    },
    route,
    params: {},
    dialect: openai,
    plan: more.plan ?? somePlan(),
    slots: new Slots(),
    notes: { forwarded: [], dropped: [], charge: false, inputTokens: null, outputTokens: null },
    payer: '',
    limits: [],
    answerHeaders: {},
  }
}

export function someTarget(
  more: { model?: string; limits?: Limits; facets?: Family['facets']; body?: Body } = {},
): Target {
  const family: Family = {
    name: 'family-one',
    origin,
    streams: new Set(),
    nMax: 8,
    notes: { en: [], zh: [] },
    forward: new Map(),
    facets: more.facets ?? new Map(),
  }
  const upstream: Upstream = {
    name: 'one',
    url: 'simulator:one',
    credential: [],
    query: {},
    headers: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1, afterLeaveMs: 1 },
    answerBytesMax: 1,
    reuse: undefined,
    cooldown: { failures: 3, forMs: 10_000 },
  }
  const name = more.model ?? 'model-one'
  const model: Model = {
    name,
    origin,
    family,
    upstreams: [{ upstream, weight: 1, priority: 1, sendAs: name }],
    prices: new Map(),
    free: true,
    limits: more.limits ?? {},
    enabled: true,
  }
  return {
    model,
    family,
    upstream,
    sendAs: name,
    body: more.body ?? { kind: 'none' },
    stream: false,
    chargesItems: false,
  }
}

/** The refusal of a hook. @throws any other error of the hook; Error when it let the request pass */
export async function refusalOf(run: () => unknown): Promise<Failure> {
  try {
    await run()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('the request was let pass')
}
