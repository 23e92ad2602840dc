import {
  bySpecificity,
  starsIn,
  type Address,
  type Affinity,
  type Budget,
  type Call,
  type Candidate,
  type Credential,
  type Family,
  type ForwardRule,
  type Group,
  type Issuer,
  joinPeriod,
  type Json,
  type KnownPlugin,
  kindsOf,
  type LimitKind,
  type Limits,
  type Model,
  Models,
  type ModelEnd,
  type OperationTraits,
  type OperationsByName,
  type Origin,
  type OtlpConfig,
  parseEnd,
  parseHeaderRule,
  type PipelineStep,
  type CompiledConfig,
  type ConfigPlugins,
  type Price,
  type PriceConditions,
  type Route,
  type ServerConfig,
  type SignInPlan,
  type Upstream,
  type WebhookConfig,
} from '../domain/index.ts'
import { parseBytes, parseDuration, parseMoney, parseProxy } from '../util/index.ts'
import { credentialEntries } from './check-credentials.ts'
import { parseAddress, parseMatch, parseSpelling } from './formats.ts'
import { isAllFree } from './free-operations.ts'
import type { Pipeline } from './pipeline.ts'
import type { Report } from './report.ts'
import {
  type BudgetsSettings,
  type CallSettings,
  type EventSettings,
  type FamilySettings,
  type ForwardSettings,
  type GroupSettings,
  type ModelSettings,
  type ObservabilitySettings,
  type RetentionSettings,
  retryDefaults,
  type RouteSettings,
  type ServerSettings,
  type SignInSettings,
  type UpstreamSettings,
} from './schema.ts'
import type { Source } from './source.ts'
import { findNode, type Path, scalarsOf, type Tree } from './tree.ts'
import { withKeys, withOnlyKey } from './vendor-keys.ts'

/** The value of a file with the schema's defaults; parts without findings are valid. */
export type Settings = {
  readonly currency: string
  readonly organization?: string
  readonly server: ServerSettings
  readonly storage: string
  readonly counters: string
  readonly retention: RetentionSettings
  readonly budgets: BudgetsSettings
  readonly events: EventSettings
  readonly sign_in: SignInSettings
  readonly observability: ObservabilitySettings
  readonly groups: ByName<GroupSettings>
  readonly upstreams: ByName<UpstreamSettings>
  readonly pipeline: readonly ByName<unknown>[]
  readonly families: ByName<FamilySettings & ByName<unknown>>
  readonly models: ByName<ModelSettings>
  readonly routes: readonly RouteSettings[]
}

type ByName<T> = { readonly [name: string]: T }

/** The inputs for `buildParts` and `buildPlan`. */
export type BuildInput = {
  readonly settings: unknown
  readonly root: Tree
  readonly source: Source
  readonly pipeline: Pipeline
  /** The gateway's own plugins, in use or not. */
  readonly known: readonly KnownPlugin[]
  readonly report: Report
  readonly operations: OperationsByName
  /** By model with a name from a row of a price table: the wildcard that serves it. */
  readonly derived: ReadonlyMap<string, string>
}

export type Parts = Pick<CompiledConfig, 'upstreams' | 'families' | 'models' | 'wildcards'>

/** The upstreams, families and models without findings. Plugins can check these even if other parts have findings. */
export function buildParts(input: BuildInput): Parts {
  const upstreams = new Map(
    soundEntries(input, 'upstreams').map(([name, own]) => [name, buildUpstream(name, own, input)]),
  )
  const families = new Map(
    soundEntries(input, 'families', coreKeys(input)).map(([name, own]) => [name, buildFamily(name, own, input)]),
  )
  const built: Model[] = []
  for (const [name, own] of soundEntries(input, 'models')) {
    const family = families.get(own.family)
    const candidates = buildCandidates(name, own, upstreams)
    if (family && candidates) built.push(buildModel(name, own, family, candidates, input))
  }
  return { upstreams, families, ...groupModels(withFallbacks(built, input)) }
}

/** Each model with the upstreams of its fallbacks: after its own upstreams, in the order of the fallbacks. */
function withFallbacks(models: readonly Model[], { settings, derived }: BuildInput): readonly Model[] {
  const byName = new Map(models.map(model => [model.name, model]))
  return models.map(model => {
    const own = (settings as Settings).models[derived.get(model.name) ?? model.name]
    const others = (own?.fallbacks ?? []).flatMap(name => byName.get(name) ?? [])
    if (others.length === 0) return model
    let last = Math.max(...model.upstreams.map(({ priority }) => priority))
    const fallbacks = others.flatMap(fallback => {
      const from = last
      return fallback.upstreams.map(one => {
        last = Math.max(last, from + one.priority)
        return { ...one, priority: from + one.priority, fallback }
      })
    })
    return { ...model, fallbacks }
  })
}

/** The models by name; models with `*` in their names are separate. */
export function groupModels(all: readonly Model[]): Pick<Parts, 'models' | 'wildcards'> {
  const wildcards = all
    .filter(({ name }) => starsIn(name) > 0)
    .toSorted((one, other) => bySpecificity(one.name, other.name))
  const models = new Models(
    all.filter(({ name }) => starsIn(name) === 0).map(model => [model.name, model]),
    wildcards,
  )
  return { models, ...(wildcards.length > 0 && { wildcards }) }
}

/** The plan of a file without findings. */
export function buildPlan(
  input: BuildInput,
  parts: Parts,
  given: Pick<CompiledConfig, 'settings' | 'revision' | 'warnings' | 'secretFiles' | 'variables' | 'files'>,
): CompiledConfig {
  const settings = input.settings as Settings
  const server = buildServer(settings.server)
  const groups = Object.entries(settings.groups).map(([name, own]) => [name, buildGroup(name, own)] as const)
  return {
    ...given,
    file: input.source.file,
    currency: settings.currency,
    ...(settings.organization !== undefined && { organization: settings.organization }),
    timeZone: settings.budgets.time_zone,
    budgetThresholds: [...settings.budgets.thresholds].sort((a, b) => a - b),
    server,
    storage: settings.storage,
    counters: settings.counters,
    ...(settings.observability.metrics.by.length > 0 && { metricsBy: new Set(settings.observability.metrics.by) }),
    ...(settings.observability.otlp && { otlp: buildOtlp(settings.observability.otlp) }),
    ...(settings.retention.log !== 'off' && { logRetentionMs: ms(settings.retention.log) }),
    ...(settings.retention.labels !== 'off' && { labelRetentionMs: ms(settings.retention.labels) }),
    ...(settings.retention.events !== 'off' && { eventRetentionMs: ms(settings.retention.events) }),
    ...(Object.keys(settings.events.webhooks).length > 0 && { webhooks: buildWebhooks(settings.events) }),
    ...(isSignInSet(settings.sign_in) && { signIn: buildSignIn(settings.sign_in) }),
    ...(settings.retention.review !== 'off' && { reviewRetentionMs: ms(settings.retention.review) }),
    groups: new Map(groups),
    ...parts,
    pipeline: settings.pipeline.map((step, i) => buildStep(step, originOf(input, ['pipeline', i]))),
    plugins: pluginsOf(input),
    routes: settings.routes.flatMap((route, i) => buildRoutes(route, server, ['routes', i], input)),
  }
}

/** Plugins in use precede other known ones, and win if two have the same name. */
function pluginsOf({ pipeline, known }: BuildInput): ConfigPlugins {
  const inUse = pipeline.steps.flatMap(({ plugin }) => plugin ?? [])
  return { inUse, known: [...new Set([...inUse, ...known])] }
}

/** The valid entries of a section. For families only the core keys count: plugins' sections are checked separately. */
function soundEntries<Section extends 'upstreams' | 'families' | 'models'>(
  input: BuildInput,
  section: Section,
  keys?: readonly string[],
): readonly (readonly [string, Settings[Section][string]])[] {
  const { settings, report } = input
  const entries = (settings as ByName<unknown> | null)?.[section]
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) return []
  return (Object.entries(entries) as [string, Settings[Section][string]][]).filter(([name, own]) => {
    if (typeof own !== 'object' || own === null || Array.isArray(own)) return false
    return keys ? keys.every(key => !report.broken([section, name, key])) : !report.broken([section, name])
  })
}

function coreKeys({ pipeline }: BuildInput): readonly string[] {
  return [
    'streams',
    'n_max',
    'forward',
    'defaults',
    'further_models',
    'vendor_tools',
    'shared_objects',
    'session_usage',
    'affinity',
    'forward_headers',
    'reply_headers',
    'calls',
    'notes',
  ].filter(key => !pipeline.plugins.has(key))
}

function buildServer(own: ServerSettings): ServerConfig {
  return {
    listen: parseAddress(own.listen) as Address,
    ops: own.ops === undefined || own.ops === 'off' ? undefined : parseAddress(own.ops),
    bodyBytesMax: bytes(own.body_max),
    memoryBytesMax: bytes(own.memory_max),
    spoolBytesMax: bytes(own.spool_max),
    logLevel: own.log_level,
    workers: own.workers === 'auto' ? 'auto' : Number(own.workers),
    drainMs: ms(own.drain),
    drainWaitMs: ms(own.drain_wait),
    heartbeatMs: own.heartbeat === 'off' ? undefined : ms(own.heartbeat),
    agentsAccepting102: own.agents_accepting_102,
    corsOrigins: own.cors.origins,
    console: own.console === 'on',
    ...(own.console_edits === 'on' && { consoleEdits: true }),
    ...(own.tls && { tls: own.tls }),
    ...(own.trusted_proxies.length > 0 && { trustedProxies: own.trusted_proxies }),
    ...(own.public_url !== undefined && { publicUrl: own.public_url }),
    ...(own.connections_max !== undefined && { connectionsMax: own.connections_max }),
    ...(own.connections_per_address !== undefined && { connectionsPerAddress: own.connections_per_address }),
  }
}

function buildOtlp(own: NonNullable<ObservabilitySettings['otlp']>): OtlpConfig {
  const { endpoint, headers, traces, metrics, every, forward_traceparent: forwardTraceparent } = own
  const attributes = new Set(own.attributes)
  return { endpoint, headers, traces, metrics, everyMs: ms(every), forwardTraceparent, attributes }
}

function buildWebhooks({ webhooks }: EventSettings): ReadonlyMap<string, WebhookConfig> {
  return new Map(
    Object.entries(webhooks).map(([name, own]) => {
      const { url, format, secret, old_secret, kinds, allow_private, from, to } = own
      const secrets = [secret, old_secret].filter(one => one !== undefined)
      const mail = { ...(from !== undefined && { from }), ...(to && { to }) }
      return [name, { name, url, format, secrets, kinds: kindsOf(kinds), allowPrivate: allow_private, ...mail }]
    }),
  )
}

const isSignInSet = ({ passwords, issuers }: SignInSettings): boolean => !passwords || Object.keys(issuers).length > 0

function buildSignIn({ passwords, issuers }: SignInSettings): SignInPlan {
  const built = Object.entries(issuers).map(([name, own]) => [name, buildIssuer(name, own)] as const)
  return { passwords, issuers: new Map(built) }
}

function buildIssuer(name: string, own: SignInSettings['issuers'][string]): Issuer {
  return {
    name,
    url: own.issuer,
    label: own.label ?? name,
    clientId: own.client_id,
    clientSecret: own.client_secret,
    clientAuth: own.client_auth,
    scopes: [...new Set(['openid', ...own.scopes])],
    allowHttp: own.allow_http,
    groupsClaim: own.groups_claim,
    roles: own.roles && new Map(Object.entries(own.roles)),
    defaultRole: own.default_role,
    matchesEmail: own.match === 'email',
    groups: own.groups && new Map(Object.entries(own.groups)),
    group: own.group,
    allowsSignUp: own.allow_sign_up,
    emailDomains: own.email_domains,
    signOut: own.sign_out,
  }
}

function buildGroup(name: string, own: GroupSettings): Group {
  const limits: Limits = {
    ...(own.rpm !== undefined && { rpm: own.rpm }),
    ...(own.tpm !== undefined && { tpm: own.tpm }),
    ...(own.concurrency !== undefined && { concurrency: own.concurrency }),
    ...shadowOf(own),
  }
  const keysMax = own.keys_max === undefined ? {} : { keysMax: own.keys_max }
  return {
    name,
    limits,
    limitScope: own.limit_scope,
    multiplier: own.multiplier,
    ...keysMax,
    ...(own.jobs !== undefined && { jobs: own.jobs }),
    ...(own.stored_objects && {
      storedObjects: {
        ...(own.stored_objects.max !== undefined && { max: own.stored_objects.max }),
        ...(own.stored_objects.bytes !== undefined && { bytesMax: bytes(own.stored_objects.bytes) }),
      },
    }),
    ...(own.models && { models: own.models }),
    ...(own.aliases && { aliases: new Map(Object.entries(own.aliases as ByName<string>)) }),
    ...(own.limits_per_user && { limitsPerUser: own.limits_per_user }),
    ...(own.limits_per_end_user && { limitsPerEndUser: own.limits_per_end_user }),
    ...(own.limits_in_all && { limitsInAll: own.limits_in_all }),
    ...(own.budget && { budget: buildBudget(own.budget) }),
    ...(own.user_budget && { userBudget: buildBudget(own.user_budget) }),
    ...(own.end_user_budget && { endUserBudget: buildBudget(own.end_user_budget) }),
    ...(own.end_user_budgets && {
      endUserBudgets: new Map(
        Object.entries(own.end_user_budgets as ByName<BudgetSettings>).map(([who, budget]) => [
          who,
          buildBudget(budget),
        ]),
      ),
    }),
  }
}

type BudgetSettings = NonNullable<GroupSettings['budget']>

function buildBudget({ amount, per, resets_on, soft }: BudgetSettings): Budget {
  const period = joinPeriod(per, resets_on) ?? 'total'
  return { amount: parseMoney(amount) ?? 0, per: period, ...(soft && { soft }) }
}

/** Empty if no limit is in shadow mode, as in most groups. */
function shadowOf(own: { readonly shadow: readonly LimitKind[] }): { readonly shadow?: readonly LimitKind[] } {
  return own.shadow.length > 0 ? { shadow: own.shadow } : {}
}

function buildUpstream(name: string, own: UpstreamSettings, input: BuildInput): Upstream {
  const { timeouts } = own
  const upstream: Upstream = {
    name,
    url: own.url,
    credential: buildCredential(name, own, input),
    headers: lowerCased(own.headers),
    query: own.query,
    ...callsOf(own.calls),
    timeouts: {
      connectMs: ms(timeouts.connect),
      firstByteMs: ms(timeouts.first_byte),
      idleMs: ms(timeouts.idle),
      totalMs: ms(timeouts.total),
      afterLeaveMs: ms(timeouts.after_leave),
    },
    ...(own.region !== undefined && { region: own.region }),
    ...(own.provider !== undefined && { provider: own.provider }),
    ...(own.proxy !== undefined && { proxy: parseProxy(own.proxy) ?? ('none' as const) }),
    ...(own.ca !== undefined && { ca: own.ca }),
    answerBytesMax: bytes(own.answer_max),
    reuse: own.reuse,
    cooldown: { failures: own.cooldown.failures, forMs: ms(own.cooldown.for) },
    ...(own.connections !== undefined && { connections: own.connections }),
    ...(own.queue && {
      queue: {
        ...(own.queue.max !== undefined && { max: own.queue.max }),
        ...(own.queue.for !== undefined && { forMs: ms(own.queue.for) }),
      },
    }),
    ...(own.concurrency !== undefined && { concurrency: own.concurrency }),
    ...shadowOf(own),
  }
  return own.keys === undefined ? withOnlyKey(upstream, own) : withKeys(upstream, own)
}

/** Each has one kind and is complete: `checkCredentials` has verified it. */
function buildCredential(name: string, own: UpstreamSettings, input: BuildInput): readonly Credential[] {
  return credentialEntries(['upstreams', name, 'credential'], own.credential).map(({ path, entry }): Credential => {
    const { header, query, sign, value = '' } = entry
    if (header !== undefined) return { kind: 'header', header: header.toLowerCase(), value }
    if (query !== undefined) return { kind: 'query', name: query, value }
    const { node } = findNode(input.root, [...path, 'with'])
    const secrets = [...scalarsOf(node)].flatMap(([one]) => (one.secret ? String(one.value) : []))
    return {
      kind: 'sign',
      signer: sign ?? '',
      options: entry.with ?? {},
      secrets,
      origin: originOf(input, [...path, 'sign'], 'value'),
    }
  })
}

function buildFamily(name: string, own: FamilySettings & ByName<unknown>, input: BuildInput): Family {
  const { pipeline, report } = input
  const facets = new Map<string, unknown>()
  for (const plugin of pipeline.plugins.values()) {
    const sound = plugin.facet && own[plugin.name] !== undefined && !report.broken(['families', name, plugin.name])
    if (sound) facets.set(plugin.name, own[plugin.name])
  }
  const itemCharger = pipeline.plugins.values().find(plugin => plugin.chargesItems && facets.has(plugin.name))
  return {
    name,
    origin: originOf(input, ['families', name]),
    streams: new Set(own.streams),
    nMax: own.n_max,
    forward: new Map(Object.entries(own.forward).map(([operation, rule]) => [operation, buildForward(rule)])),
    ...(Object.keys(own.defaults).length > 0 && { defaults: new Map(Object.entries(own.defaults as ByName<Json>)) }),
    further: {
      instead: own.further_models.instead.map(place => place.split('.')),
      beside: own.further_models.beside.map(place => place.split('.')),
    },
    ...(own.vendor_tools && { vendorTools: own.vendor_tools }),
    ...(own.shared_objects && { sharedObjects: own.shared_objects }),
    ...(own.session_usage && { sessionUsage: own.session_usage }),
    ...(own.affinity && { affinity: buildAffinity(own.affinity) }),
    ...(own.forward_headers.length > 0 && { forwardHeaders: parseHeaderRule(own.forward_headers) }),
    ...(own.reply_headers.length > 0 && { replyHeaders: parseHeaderRule(own.reply_headers) }),
    ...callsOf(own.calls),
    facets,
    ...(itemCharger && { chargesItems: chargesItemsBy(itemCharger, facets.get(itemCharger.name)) }),
    notes: own.notes,
  }
}

function buildAffinity({ fields, headers }: NonNullable<FamilySettings['affinity']>): Affinity {
  return {
    fields: fields.map(path => path.split('.')),
    headers: headers.map(name => name.toLowerCase()),
  }
}

function chargesItemsBy(plugin: KnownPlugin, facet: unknown): NonNullable<Family['chargesItems']> {
  return (operation, body) => plugin.chargesItems?.(operation, body, facet as never) === true
}

function callsOf(own: ByName<CallSettings>): { readonly calls?: ReadonlyMap<string, Call> } {
  const entries = Object.entries(own)
  if (entries.length === 0) return {}
  return { calls: new Map(entries.map(([operation, call]) => [operation, buildCall(call)])) }
}

function buildCall(own: CallSettings): Call {
  if (typeof own === 'string') return { path: own, query: {}, headers: {}, stream: {} }
  const { path, method, query, headers, stream } = own as Exclude<CallSettings, string> & Partial<Call>
  return {
    path,
    ...(method !== undefined && { method }),
    query: query ?? {},
    headers: lowerCased(headers ?? {}),
    stream: stream ?? {},
  }
}

function lowerCased(headers: ByName<string>): ByName<string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function buildForward(rule: ForwardSettings): ForwardRule {
  if (Array.isArray(rule)) return { kind: 'only', names: new Set(rule as readonly string[]) }
  return { kind: 'all', except: new Set((rule as { readonly except: readonly string[] }).except) }
}

/** The upstreams of a model; undefined if one of them is invalid. */
function buildCandidates(
  model: string,
  own: ModelSettings,
  upstreams: ReadonlyMap<string, Upstream>,
): readonly Candidate[] | undefined {
  const entries: NonNullable<ModelSettings['upstreams']> =
    own.upstreams ?? (own.upstream === undefined ? [] : [{ upstream: own.upstream, weight: 1, priority: 1 }])
  const candidates: Candidate[] = []
  for (const { upstream: name, weight, priority, send_as } of entries) {
    const upstream = upstreams.get(name)
    if (!upstream) return undefined
    candidates.push({ upstream, weight, priority, sendAs: send_as ?? own.send_as ?? model })
  }
  return candidates.length > 0 ? candidates : undefined
}

function buildModel(
  name: string,
  own: ModelSettings,
  family: Family,
  upstreams: readonly Candidate[],
  input: BuildInput,
): Model {
  const at: Path = ['models', name]
  const wildcard = input.derived.get(name) ?? (starsIn(name) > 0 ? name : undefined)
  return {
    name,
    ...(wildcard !== undefined && { wildcard }),
    origin: originOf(input, ['models', name]),
    family,
    upstreams,
    prices: buildPrices((own.prices ?? {}) as ByName<string>, [...at, 'prices'], input),
    ...(own.overrides && {
      overrides: own.overrides.map((one, i) => buildOverride(one, [...at, 'overrides', i], input)),
    }),
    ...(own.times && {
      times: own.times.map((one, i) => ({
        if: one.if as PriceConditions,
        by: one.by,
        origin: originOf(input, [...at, 'times', i]),
      })),
    }),
    ...(own.unpriced && { unpriced: own.unpriced }),
    free: own.price === 'free' || (own.prices === undefined && isAllFree([...family.forward.keys()], input.operations)),
    ...(own.affinity && { affinity: buildAffinity(own.affinity) }),
    ...(own.defaults && { defaults: buildDefaults(own.defaults as ByName<ByName<Json>>) }),
    ...(own.accepts && own.accepts.length > 0 && { accepts: new Set(own.accepts) }),
    ...(own.on_loss && { onLoss: own.on_loss }),
    ...retryOf(own),
    ...cacheOf(own, [...at, 'cache'], input),
    limits: {
      ...(own.limits.rpm !== undefined && { rpm: own.limits.rpm }),
      scope: own.limits.scope,
      ...shadowOf(own.limits),
    },
    ...(own.ends !== undefined && { ends: parseEnd(own.ends) as ModelEnd }),
    enabled: own.enabled,
  }
}

function buildDefaults(own: ByName<ByName<Json>>): NonNullable<Model['defaults']> {
  return new Map(Object.entries(own).map(([operation, fields]) => [operation, new Map(Object.entries(fields))]))
}

function retryOf(own: ModelSettings): Pick<Model, 'retry'> {
  const { retry_on: on, retry = retryDefaults, may_pay_twice: paysTwice = false } = own
  if (on === undefined || on.length === 0) return {}
  const { attempts, backoff, wait_max } = retry
  return { retry: { on: new Set(on), attempts, backoffMs: ms(backoff), waitMaxMs: ms(wait_max), paysTwice } }
}

function cacheOf({ cache }: ModelSettings, at: Path, input: BuildInput): Pick<Model, 'cache'> {
  if (!cache) return {}
  const { for: kept, per, keys, images, ignore, hit_price: price } = cache
  const { file, line } = originOf(input, price ? [...at, 'hit_price'] : at)
  const hit = {
    each: parseMoney(price?.each ?? '0') as number,
    timesMicros: parseMoney(price?.times ?? '0') as number,
    at: `${file}:${line}`,
  }
  return { cache: { forMs: ms(kept), per, keys, images, ignore: new Set(ignore), hit } }
}

function buildPrices(own: ByName<string>, at: Path, input: BuildInput): ReadonlyMap<string, Price> {
  return new Map(
    Object.entries(own).map(([label, price]): readonly [string, Price] => {
      return [label, { micros: parseMoney(price) as number, origin: originOf(input, [...at, label], 'value') }]
    }),
  )
}

function buildOverride(own: ByName<unknown>, at: Path, input: BuildInput): NonNullable<Model['overrides']>[number] {
  const { if: conditions, ...prices } = own
  return {
    if: conditions as PriceConditions,
    prices: buildPrices(prices as ByName<string>, at, input),
    origin: originOf(input, at),
  }
}

function buildStep(step: ByName<unknown>, origin: Origin): PipelineStep {
  const [plugin = '', options] = Object.entries(step)[0] ?? []
  return { plugin, options, origin }
}

/** Whether the body of the operation is a list of requests. */
function isList(traits: OperationTraits | undefined): boolean {
  const requests = traits?.deferred?.batch?.requests
  return requests !== undefined && 'list' in requests
}

/** One route for each spelling; all of them use the first one's path at upstreams. */
function buildRoutes(own: RouteSettings, server: ServerConfig, at: Path, input: BuildInput): readonly Route[] {
  const [first = '', ...more] = ([] as string[]).concat(own.match)
  const traits = input.operations.get(own.operation)
  const { method, path: upstreamPath } = parseMatch(first) as { method: string; path: string }
  const shared = {
    method,
    upstreamPath,
    stream: own.stream,
    operation: own.operation,
    ...(traits && { traits }),
    ...(traits?.object && { object: traits.object }),
    ...(traits?.deferred && { deferred: traits.deferred }),
    ...(traits?.repeatable && { repeatable: traits.repeatable }),
    ...(traits?.modelField !== undefined && { modelField: traits.modelField }),
    ...(traits?.segments && { segments: true as const }),
    // The requests of a batch are checked one by one.
    ...((traits?.images || isList(traits)) && { runsNoTools: true as const }),
    dialect: own.dialect,
    body: own.body ?? (method === 'GET' || method === 'DELETE' ? 'none' : 'json'),
    bodyBytesMax: own.body_max === undefined ? server.bodyBytesMax : bytes(own.body_max),
    reuse: own.reuse,
    serve: own.serve,
    ...(own.jobs !== undefined && { jobs: own.jobs }),
    ...(own.session && { session: buildSession(own.session) }),
  }
  const aliases = more.map((text, i) => ({
    ...shared,
    path: parseSpelling(text, method)?.path as string,
    origin: originOf(input, [...at, 'match', i + 1], 'value'),
  }))
  return [{ ...shared, path: upstreamPath, origin: originOf(input, at) }, ...aliases]
}

function buildSession(own: NonNullable<RouteSettings['session']>): NonNullable<Route['session']> {
  return {
    idleMs: ms(own.idle),
    totalMs: ms(own.total),
    pingMs: ms(own.ping),
    messageBytesMax: bytes(own.message_max),
    perKeyMax: own.per_key,
    ...(own.each !== undefined && { each: parseMatch(own.each) as { method: string; path: string } }),
  }
}

function originOf({ root, source }: BuildInput, path: Path, at: 'key' | 'value' = 'key'): Origin {
  const { node, keySpan } = findNode(root, path)
  return source.locate(at === 'key' && keySpan ? keySpan.start : node.span.start)
}

function bytes(text: string): number {
  return parseBytes(text) as number
}

function ms(text: string): number {
  return parseDuration(text) as number
}
