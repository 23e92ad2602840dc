import type { TableRow } from '../../domain/index.ts'
import { type DraftDefaults, writeDefaults } from './litellm-defaults.ts'
import { familyTexts, formatsOf } from './families.ts'
import type { UpstreamBook } from './upstream-book.ts'
import { conditionKeys, writePrices } from './write-prices.ts'
import { isName, writeComment, writeForeign, writeMap, writeScalar } from './yaml-words.ts'

/** The cost of a model: prices by label in the form of the configuration, free, or why it is not known. */
export type Cost =
  | ({ readonly kind: 'prices'; readonly prices: ReadonlyMap<string, string> } & Pick<TableRow, 'overrides' | 'times'>)
  | { readonly kind: 'free' }
  | { readonly kind: 'unknown'; readonly why: string }

/** One route of a model. */
export type DraftRoute = {
  readonly upstream: string
  readonly sendAs: string
  readonly weight: string | undefined
  readonly priority: number
}

export type DraftModel = {
  readonly name: string
  readonly family: string
  readonly cost: Cost
  readonly routes: readonly DraftRoute[]
  /** Models that answer if all routes fail. */
  readonly fallbacks?: readonly string[]
  readonly rpm: number | undefined
  /** The day on which its vendor ends it. */
  readonly ends: string | undefined
  /** Default values for fields that clients do not send; absent if there are none. */
  readonly defaults?: DraftDefaults
}

/** The translation of another gateway, before it is written. */
export type Draft = {
  /** The origin, in a sentence. */
  readonly origin: string
  readonly notes: readonly string[]
  /** Lines below `groups:`. */
  readonly groups: readonly string[]
  readonly upstreams: UpstreamBook
  readonly models: readonly DraftModel[]
  /** Models that were not imported, and why: comments below the models. */
  readonly left: readonly { readonly name: string; readonly why: string }[]
  /** Maximum requests to upstreams for one client request; 1 if there are no retries. */
  readonly attempts: number
}

/** Failures after which other gateways retry by default. */
const retriedCauses = '[408, 500, 502, 503, 504, timeout, connect, reset]'
const usualAttempts = 3
const mostAttempts = 10

export function isActive({ cost, routes }: DraftModel): boolean {
  return cost.kind !== 'unknown' && routes.length > 0
}

/**
 * Attempts for every upstream of the model that has the most, including its fallbacks, plus the retries of the other
 * gateway.
 */
export function attemptsFor(models: readonly DraftModel[], retries: number | undefined): number {
  const routes = new Map(models.map(one => [one.name, one.routes.length]))
  const ways = (one: DraftModel): number =>
    (one.fallbacks ?? []).reduce((sum, name) => sum + (routes.get(name) ?? 0), one.routes.length)
  const most = Math.max(1, ...models.filter(isActive).map(ways))
  if (retries === 0 && most === 1) return 1
  return Math.min(mostAttempts, Math.max(retries === undefined ? usualAttempts : retries + 1, most))
}

/** Writes the `gateway.yaml` of a draft. */
export function writeConfig({ origin, notes, groups, upstreams, models, left: leftOut, attempts }: Draft): string {
  const families = Object.entries(familyTexts).filter(([name]) => models.some(model => model.family === name))
  const called = new Set(families.flatMap(([name]) => formatsOf(name)))
  const routes = Object.entries(familyTexts).flatMap(([name, text]) => (called.has(name) ? text.routes : []))
  const active = models.filter(isActive)
  const used = new Set(active.flatMap(model => model.routes.map(route => route.upstream)))
  const places = upstreams.lines(name => used.has(name))
  const left = notes.length === 0 ? [] : ['#', '# Needs review:', ...notes.map(note => `# - ${writeComment(note)}`)]
  const lines = [
    `# ${writeComment(origin)} Validate it with tollgate check; tollgate explain shows what a request would do.`,
    ...left,
    'version: 1',
    'currency: USD',
    '',
    'server:',
    '  listen: "${TOLLGATE_LISTEN:-127.0.0.1:8080}"',
    '  ops: "${TOLLGATE_OPS:-127.0.0.1:9464}"',
    '',
    'storage: "${TOLLGATE_STORAGE:-sqlite:./data/tollgate.db}"',
    'counters: "${TOLLGATE_COUNTERS:-memory:}"',
    '',
    ...groups,
    '',
    ...(attempts > 1 ? writeRetries(attempts) : []),
    used.size > 0 ? 'upstreams:' : 'upstreams: {}',
    ...(used.size > 0 ? places : places.map(line => line.trimStart())),
    '',
    'pipeline: [auth, ratelimit, answer-cache, format-bridge, multipart-rewrite, size-normalize, image-tier-billing, token-usage]',
    '',
    families.length > 0 ? 'families:' : 'families: {}',
    ...families.map(([name, { family }]) => `  ${name}:\n    ${family}`),
    '',
    active.length > 0 ? 'models:' : 'models: {}',
    ...[...models.flatMap(writeModel), ...writeLeft(leftOut)].map(line =>
      active.length > 0 ? line : line.trimStart(),
    ),
    '',
    'routes:',
    ...new Set(routes.map(route => `  - ${route}`)),
    '  - { match: GET /v1/models, operation: models.list, dialect: by-caller, serve: models }',
    '  - { match: "GET /v1/models/{id}", operation: models.get, dialect: by-caller, serve: model }',
    '  - { match: "GET /v1/charges/{id}", operation: charges.get, dialect: openai, serve: charge }',
  ]
  return `${lines.join('\n')}\n`
}

/** Images are safe: only requests that were certainly not sold are retried. */
function writeRetries(attempts: number): readonly string[] {
  return [
    '# After these failures text is requested again; images and jobs only if they were not sold (docs/failover.md).',
    'defaults:',
    '  models:',
    `    retry_on: ${retriedCauses}`,
    ...(attempts === usualAttempts ? [] : [`    retry: { attempts: ${attempts} }`]),
    '',
  ]
}

function writeModel(model: DraftModel): readonly string[] {
  const { name, family, cost, routes, fallbacks, rpm, ends, defaults } = model
  const [only, ...more] = routes
  const single = more.length === 0 ? only : undefined
  const sent = (sendAs: string): string | undefined => (sendAs === name ? undefined : writeForeign(sendAs))
  const several = routes.map(one =>
    writeMap([
      ['upstream', writeScalar(one.upstream)],
      ['weight', one.weight],
      ['priority', one.priority === 1 ? undefined : String(one.priority)],
      ['send_as', sent(one.sendAs)],
    ]),
  )
  const fields = writeMap([
    ['family', family],
    ['upstream', single && writeScalar(single.upstream)],
    ['send_as', single && sent(single.sendAs)],
    ['upstreams', single || routes.length === 0 ? undefined : `[${several.join(', ')}]`],
    ['fallbacks', fallbacks && `[${fallbacks.map(writeScalar).join(', ')}]`],
    ['prices', cost.kind === 'prices' ? writePrices(cost.prices) : undefined],
    ...(cost.kind === 'prices' ? conditionKeys(cost) : []),
    ['accepts', acceptsOf(model)],
    ['price', cost.kind === 'free' ? 'free' : undefined],
    ['limits', rpm === undefined ? undefined : writeMap([['rpm', String(rpm)]])],
    ['defaults', defaults && writeDefaults(defaults)],
    ['ends', ends],
  ])
  if (isActive(model)) return [`  ${writeScalar(name)}: ${fields}`]
  const why = cost.kind === 'unknown' ? cost.why : 'it has no upstream'
  return [`  # ${writeComment(`${name} is off: ${why}`)}`, `  # ${writeScalar(name)}: ${fields}`]
}

/** Further formats for clients. */
function acceptsOf({ family }: DraftModel): string | undefined {
  const formats = familyTexts[family]?.accepts?.map(({ format }) => format)
  return formats && `[${formats.join(', ')}]`
}

/** Models without a line of their own, by reason. */
function writeLeft(left: Draft['left']): readonly string[] {
  const byReason = Map.groupBy(left, one => one.why)
  return [...byReason].map(([why, all]) => {
    const names = [...new Set(all.map(one => one.name))].join(', ')
    return `  # ${writeComment(`left out: ${names}: ${why}`)}`
  })
}

/** Equal costs give equal texts. */
export function writeCost(cost: Cost): string {
  if (cost.kind !== 'prices') return cost.kind
  return [writePrices(cost.prices), ...conditionKeys(cost).map(([, written]) => written)].join(' ')
}

/** Why a name cannot be that of a model; undefined if it can. */
export function whyNoName(name: string): string | undefined {
  return isName(name) ? undefined : 'its name is not valid in a configuration'
}
