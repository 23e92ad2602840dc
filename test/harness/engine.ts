import type { Test } from 'tap'
import { openai } from '../../src/api-formats/openai.ts'
import { Engine, type EngineParts, Pipeline, Router } from '../../src/engine/index.ts'
import type {
  Candidate,
  Family,
  LogRow,
  Model,
  CompiledConfig,
  Route,
  ServerConfig,
  Upstream as UpstreamPlan,
} from '../../src/domain/index.ts'
import type { ApiFormat, Hooks } from '../../src/plugin-api/index.ts'
import {
  completeClock,
  type Connect,
  Ids,
  type Random,
  systemClock,
  systemRandom,
  type Timers,
  type Times,
} from '../../src/util/index.ts'
import { bind, createCallerServer } from '../../src/gateway/listeners.ts'
import { somePlan } from './request-context.ts'
import { startUpstream, type Upstream } from './upstream.ts'

/** The engine alone with real upstreams: a plan of three routes and one model, and only the test's plugins. */
export type BareEngine = {
  readonly url: string
  readonly engine: Engine
  readonly upstreams: readonly Upstream[]
  /** One row per settled exchange, in the order of settlement. */
  readonly rows: readonly LogRow[]
  /** The engine's log lines of level `error`. */
  readonly faults: readonly string[]
  readonly post: (path?: string, headers?: Record<string, string>, body?: object) => Promise<Response>
  /** Resolves when no request is open. */
  readonly settled: () => Promise<void>
}

export type BareOptions = {
  /** For each upstream, the differences from an upstream of weight 1 and priority 1 without timeouts. */
  readonly upstreams?: readonly (Partial<Pick<Candidate, 'weight' | 'priority' | 'sendAs'>> &
    Partial<
      Pick<UpstreamPlan, 'timeouts' | 'answerBytesMax' | 'cooldown' | 'url' | 'credential' | 'query' | 'headers'>
    >)[]
  readonly server?: Partial<ServerConfig>
  readonly hooks?: Hooks
  readonly callers?: EngineParts['callers']
  readonly clock?: Times & Partial<Timers>
  readonly random?: Random
  readonly connect?: Connect
  readonly dialect?: ApiFormat
  readonly signerOf?: EngineParts['signerOf']
}

const origin = { file: 'test', line: 1, col: 1 }
export const patient = { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000, afterLeaveMs: 60_000 }
/** The model in the requests of every test of the engine. */
export const modelName = 'anything'

/** Starts the engine alone; everything closes with the test. */
export async function startEngine(t: Test, options: BareOptions = {}): Promise<BareEngine> {
  const wanted = options.upstreams ?? [{}]
  const upstreams = await Promise.all(wanted.map(() => startUpstream()))
  const candidates = wanted.map(({ weight = 1, priority = 1, sendAs = modelName, ...own }, i) => ({
    weight,
    priority,
    sendAs,
    upstream: planUpstream(`upstream-${i}`, (upstreams[i] as Upstream).url, own),
  }))
  const plan = createPlan(candidates, options.server ?? {})
  const rows: LogRow[] = []
  const faults: string[] = []
  const ignore = (): void => undefined
  const dialect = options.dialect ?? openai
  const engine = new Engine(
    {
      dialect: () => dialect,
      guessApiFormat: () => dialect,
      local: new Map(),
      resolveUrl: url => url,
      began: ignore,
      upstreamAnswered: ignore,
      retried: ignore,
      record: row => void rows.push(row),
      clock: completeClock(options.clock ?? systemClock),
      random: options.random ?? systemRandom,
      ids: new Ids(options.random),
      connect: options.connect,
      log: { debug: ignore, info: ignore, warn: ignore, error: facts => void faults.push(JSON.stringify(facts)) },
      ...(options.callers && { callers: options.callers }),
      ...(options.signerOf && { signerOf: options.signerOf }),
    },
    {
      plan,
      pipeline: new Pipeline(options.hooks ? [{ plugin: 'test', faceted: false, hooks: options.hooks }] : []),
      router: new Router(plan.routes),
    },
  )
  const { server } = createCallerServer(
    (req, res) => void engine.handle(req, res),
    code => engine.refuseUnread(code),
    { clock: systemClock },
  )
  const { url } = await bind(server, plan.server.listen)
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await engine.close()
    for (const upstream of upstreams) await upstream.close()
  })
  return {
    url,
    engine,
    upstreams,
    rows,
    faults,
    post: (path = '/v1/chat/completions', headers = {}, body = { model: modelName }) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async settled() {
      const end = performance.now() + 10_000
      while (engine.open > 0) {
        if (performance.now() > end) throw new Error(`${engine.open} requests are still open`)
        await new Promise(resolve => setTimeout(resolve, 1))
      }
    },
  }
}

/**
 * The number of upstream connections, after all closing ones have closed: the upstream notices a moment after the
 * engine.
 */
export async function countSockets(upstream: Upstream): Promise<number> {
  for (let tries = 0; upstream.sockets > 0 && tries < 400; tries++) await new Promise(resolve => setTimeout(resolve, 5))
  return upstream.sockets
}

export function planUpstream(name: string, url: string, own: Partial<UpstreamPlan>): UpstreamPlan {
  return {
    name,
    url,
    credential: [],
    query: {},
    headers: {},
    timeouts: patient,
    answerBytesMax: 268_435_456,
    reuse: undefined,
    cooldown: { failures: 3, forMs: 60_000 },
    ...own,
  }
}

function createPlan(candidates: readonly Candidate[], server: Partial<ServerConfig>): CompiledConfig {
  const family: Family = {
    name: 'family',
    origin,
    streams: new Set(['chat']),
    nMax: 1,
    forward: new Map(),
    facets: new Map(),
    notes: { en: [], zh: [] },
  }
  const model: Model = {
    name: modelName,
    origin,
    family,
    upstreams: candidates,
    prices: new Map(),
    free: true,
    limits: {},
    enabled: true,
  }
  const route = (path: string, own: Partial<Route>): Route => ({
    method: 'POST',
    path,
    upstreamPath: path,
    origin,
    operation: 'chat',
    dialect: 'openai',
    stream: 'field',
    body: 'json',
    bodyBytesMax: 33_554_432,
    reuse: undefined,
    serve: undefined,
    ...own,
  })
  const plain = somePlan([])
  return {
    ...plain,
    server: {
      ...plain.server,
      bodyBytesMax: 33_554_432,
      memoryBytesMax: 201_326_592,
      spoolBytesMax: 4_294_967_296,
      drainMs: 1_000,
      ...server,
    },
    upstreams: new Map(candidates.map(({ upstream }) => [upstream.name, upstream])),
    families: new Map([[family.name, family]]),
    models: new Map([[model.name, model]]),
    routes: [
      route('/v1/chat/completions', {}),
      route('/v1/once', { reuse: false, operation: 'once' }),
      route('/v1/models/{model}:{method}', { body: 'form', operation: 'form' }),
    ],
  }
}
