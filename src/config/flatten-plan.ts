import type { Candidate, Plan } from '../kit/index.ts'
import { withoutPassword } from './secrets.ts'
import { formatPath, type Path } from './tree.ts'

const cover = '***'
/** Where a thing stands in the file, and what is known of an operation, is not what the file says. */
const places = new Set(['origin', 'file', 'revision', 'traits'])

const size = (value: unknown): string =>
  withUnit(
    Number(value),
    [
      ['GiB', 1024 ** 3],
      ['MiB', 1024 ** 2],
      ['KiB', 1024],
    ],
    'B',
  )
const time = (value: unknown): string =>
  withUnit(
    Number(value),
    [
      ['d', 86_400_000],
      ['h', 3_600_000],
      ['m', 60_000],
      ['s', 1_000],
    ],
    'ms',
  )

/** The plan's own words that differ from the file's, and how their values are written there. */
const words: { readonly [key: string]: { readonly word: string; readonly write?: (value: unknown) => string } } = {
  nMax: { word: 'n_max' },
  limitScope: { word: 'limit_scope' },
  sendAs: { word: 'send_as' },
  bodyBytesMax: { word: 'body_max', write: size },
  memoryBytesMax: { word: 'memory_max', write: size },
  spoolBytesMax: { word: 'spool_max', write: size },
  drainMs: { word: 'drain', write: time },
  drainWaitMs: { word: 'drain_wait', write: value => (value === 0 ? '0s' : time(value)) },
  heartbeatMs: { word: 'heartbeat', write: value => (value === undefined ? 'off' : time(value)) },
  console: { word: 'console', write: value => (value === true ? 'on' : 'off') },
  agentsAccepting102: { word: 'agents_accepting_102' },
  trustedProxies: { word: 'trusted_proxies' },
  connectionsMax: { word: 'connections_max' },
  connectionsPerAddress: { word: 'connections_per_address' },
  upstreamPath: { word: 'upstream_path' },
  connectMs: { word: 'connect', write: time },
  firstByteMs: { word: 'first_byte', write: time },
  idleMs: { word: 'idle', write: time },
  totalMs: { word: 'total', write: time },
  afterLeaveMs: { word: 'after_leave', write: time },
  answerBytesMax: { word: 'answer_max', write: size },
  forMs: { word: 'for', write: time },
  everyMs: { word: 'every', write: time },
  forwardTraceparent: { word: 'forward_traceparent' },
}

/**
 * Everything a plan says, by paths in the file's words, secrets redacted: `server.body_max → 32MiB`.
 * What a model shares with others (its family, its upstream) is there by name; routes and steps are there by what they
 * match and call, so that adding one moves none of the others.
 */
export function flattenPlan(plan: Plan, secrets: ReadonlySet<string>): ReadonlyMap<string, string> {
  const facts = new Map<string, string>()
  const walk = (value: unknown, path: Path): void => {
    if (value === undefined) return
    if (typeof value === 'string') facts.set(formatPath(path), covered(value, secrets))
    else if (typeof value !== 'object' || value === null) facts.set(formatPath(path), JSON.stringify(value))
    else if (value instanceof Set) facts.set(formatPath(path), listed([...(value as Set<string>)].sort()))
    else if (isListOfText(value)) facts.set(formatPath(path), listed(value.map(text => covered(text, secrets))))
    else for (const [step, inner] of entriesOf(value)) walk(inner, [...path, step])
  }
  const walkOwn = (value: object, path: Path): void => {
    for (const [key, inner] of Object.entries(value)) {
      if (places.has(key)) continue
      const { word, write } = words[key] ?? { word: key }
      if (write) facts.set(formatPath([...path, word]), write(inner))
      else if (key === 'facets') walk(inner, path)
      else if (typeof inner === 'object' && inner !== null && (key === 'timeouts' || key === 'cooldown'))
        walkOwn(inner, [...path, word])
      else walk(inner, [...path, word])
    }
  }
  walk(plan.currency, ['currency'])
  walk(plan.storage, ['storage'])
  walk(plan.counters, ['counters'])
  if (plan.logRetentionMs !== undefined) facts.set('retention.log', time(plan.logRetentionMs))
  if (plan.reviewRetentionMs !== undefined) facts.set('retention.review', time(plan.reviewRetentionMs))
  if (plan.otlp) walkOwn(plan.otlp, ['observability', 'otlp'])
  const { corsOrigins, ...server } = plan.server
  walkOwn({ ...server, cors: { origins: corsOrigins } }, ['server'])
  for (const { limits, ...group } of plan.groups.values()) walkOwn({ ...group, ...limits }, ['groups', group.name])
  for (const upstream of plan.upstreams.values()) walkOwn(upstream, ['upstreams', upstream.name])
  walk(
    plan.pipeline.map(step => step.plugin),
    ['pipeline'],
  )
  for (const { plugin, options } of plan.pipeline) walk(options, ['pipeline', plugin])
  for (const family of plan.families.values()) walkOwn(family, ['families', family.name])
  for (const model of plan.models.values()) {
    const upstreams = model.upstreams.map(one => describeCandidate(one, model.name))
    walkOwn({ ...model, family: model.family.name, upstreams }, ['models', model.name])
  }
  for (const { upstreamPath, ...route } of plan.routes) {
    const alias = upstreamPath !== route.path
    walkOwn({ ...route, ...(alias && { upstreamPath }) }, ['routes', `${route.method} ${route.path}`])
  }
  return facts
}

/** `alpha`, or what is said of it beside: `alpha weight 3 priority 2 as a-2`. */
function describeCandidate({ upstream, weight, priority, sendAs }: Candidate, model: string): string {
  const more = [
    weight === 1 ? '' : ` weight ${weight}`,
    priority === 1 ? '' : ` priority ${priority}`,
    sendAs === model ? '' : ` as ${sendAs}`,
  ]
  return upstream.name + more.join('')
}

function entriesOf(value: object): readonly (readonly [string | number, unknown])[] {
  if (value instanceof Map) return [...value] as [string, unknown][]
  if (Array.isArray(value)) return [...value.entries()]
  return Object.entries(value).filter(([key]) => !places.has(key))
}

function listed(texts: readonly string[]): string {
  return texts.length > 0 ? texts.join(', ') : 'none'
}

function isListOfText(value: object): value is readonly string[] {
  return Array.isArray(value) && value.every(element => typeof element === 'string')
}

function covered(text: string, secrets: ReadonlySet<string>): string {
  return secrets.has(text) ? cover : withoutPassword(text)
}

function withUnit(value: number, units: readonly (readonly [string, number])[], smallest: string): string {
  const [unit, worth] = units.find(([, worth]) => value % worth === 0) ?? [smallest, 1]
  return `${value / worth}${unit}`
}
