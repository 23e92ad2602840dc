import { type Adoption, starsIn } from '../../domain/index.ts'
import { systemClock } from '../../util/index.ts'
import { fieldsOf, listOf } from './fields.ts'
import { mostExpensive } from './most-expensive.ts'
import { readLitellmPeople } from './litellm-book/read-people.ts'
import { type Deployment, type LeftOut, type LitellmOptions, readLine } from './litellm-deployments.ts'
import { writeDefaults } from './litellm-defaults.ts'
import { readBudgets } from './litellm-budgets.ts'
import { guardrailRemedy } from './litellm-book/not-imported.ts'
import { readPlaceDefaults } from './litellm-places.ts'
import { routesOf } from './key-pool.ts'
import { SecretBook, type SecretFile } from './secret-book.ts'
import { Tracked } from './tracked.ts'
import { UpstreamBook } from './upstream-book.ts'
import { formatsOf, imageFamily } from './families.ts'
import {
  attemptsFor,
  type DraftModel,
  type DraftRoute,
  isActive,
  whyNoName,
  writeConfig,
  writeCost,
} from './write-config.ts'

export type Imported = {
  /** A `gateway.yaml`. */
  readonly text: string
  /** Settings that were not translated, or that need a review: one sentence each. */
  readonly notes: readonly string[]
  /** Notes about a guardrail, a budget or a fallback that is not in effect here. */
  readonly losses: readonly string[]
  /** The number of model names, and how many of them have prices and so are active. */
  readonly models: { readonly all: number; readonly active: number }
  /** The same for the lines of its list, with the reason why each inactive line is off. */
  readonly entries: { readonly all: number; readonly active: number; readonly off: readonly Off[] }
  /** Files to write next to the configuration, readable only by their owner. */
  readonly secrets: readonly SecretFile[]
  /** Users and keys of its database, if there is one. */
  readonly adoption?: Adoption
}

/** A line of the LiteLLM file that is not used here. */
export type Off = { readonly name: string; readonly why: string }

/** Sentences of the report; `lose` is for settings that no longer guard, limit or replace anything. */
type Reporter = { readonly note: (text: string) => void; readonly lose: (text: string) => void }

/** The failures after which one model replaces another; undefined for any failure. */
const fallbackKinds: { readonly [key: string]: string | undefined } = {
  fallbacks: undefined,
  context_window_fallbacks: 'if a prompt is too long; here it is used if no upstream of the model answers',
  content_policy_fallbacks: 'if a prompt was refused; here it is used if no upstream of the model answers',
}

/**
 * Translates the parsed YAML of a LiteLLM `config.yaml`, with the users and keys of its database. Undefined if it is
 * not a LiteLLM configuration.
 * @throws Error if the database is not one of LiteLLM
 */
export function importLitellm(value: unknown, options: LitellmOptions = {}): Imported | undefined {
  const file = new Tracked(value)
  const list = file.each('model_list')
  if (!list) return undefined
  const notes = new Set<string>()
  const losses = new Set<string>()
  const note = (text: string): void => void notes.add(text)
  const lose = (text: string): void => {
    note(text)
    losses.add(text)
  }
  const [router, settings] = [file.in('router_settings'), file.in('litellm_settings')]
  const secrets = new SecretBook(options.secretsAt)
  const upstreams = new UpstreamBook()
  const variables = fieldsOf(file.take('environment_variables'))
  const { group, isCapped } = readBudgets(settings, options.book !== undefined)
  const set = Object.keys(variables)
  if (set.length > 0)
    note(
      `environment_variables: of ${set.join(', ')}, only those that upstreams need were imported; set the rest in the gateway's environment`,
    )
  for (const entry of list) addCredential(entry, file)
  const around = { options, variables, secrets, defaults: readPlaceDefaults(router, settings), note }
  const read = list.flatMap((entry, i) => readLine(entry, i, around))
  const left = read.filter((one): one is LeftOut => 'why' in one)
  const ways = read.filter((one): one is Deployment => 'way' in one)
  const named = new Set(ways.filter(one => !one.isOfPattern).map(one => one.name))
  const { models, off } = gather(
    ways.filter(one => !(one.isOfPattern && named.has(one.name))),
    upstreams,
    { note, lose },
  )
  for (const { name, target, why, isOfPattern } of left)
    if (!isOfPattern) note(`${name}: ${why}; the deployment ${target} is left out`)
  const aliases = addAliases(models, router, note)
  const withFallbacks = addFallbacks(models, aliases, [router, settings], { note, lose })
  const all = [...withFallbacks.values()]
  const active = new Set(all.filter(isActive).map(model => model.name))
  const used = new Set(all.filter(isActive).flatMap(model => model.routes.map(route => route.upstream)))
  for (const text of upstreams.poolNotes(name => used.has(name))) note(text)
  const people =
    options.book &&
    readLitellmPeople(options.book, {
      models: [...active],
      note,
      lose,
      now: systemClock.now(),
    })
  if (options.book && !people)
    throw new Error('this is not a LiteLLM database: it has no table LiteLLM_VerificationToken')
  if (isCapped && people && people.groups.length > 0)
    note(
      'max_budget: it limits the whole gateway in LiteLLM, but only the group default here. Groups of the database have their own budgets in addition: lower them, and set one for groups without a budget',
    )
  const retries = retriesOf(router) ?? retriesOf(settings)
  for (const text of secrets.notes()) note(text)
  for (const { text, isLoss } of describeLeft(file, list)) (isLoss ? lose : note)(text)
  const lines = new Set(read.flatMap(one => ('way' in one && active.has(one.name) && !off.has(one) ? [one.line] : [])))
  const draft = {
    origin: 'Imported from a LiteLLM config.yaml.',
    notes: [...notes],
    groups: [
      people
        ? '# Keys without a team are in the group default: set rpm and tpm.'
        : '# The source file has no groups: set rpm and tpm for this one.',
      'groups:',
      `  default: ${group}`,
      ...(people?.groups ?? []),
    ],
    upstreams,
    models: all,
    left: left.filter(one => !active.has(one.name)),
    attempts: attemptsFor(all, retries),
  }
  return {
    text: writeConfig(draft),
    notes: draft.notes,
    losses: [...losses],
    models: { all: namesOf(all, left).size, active: active.size },
    entries: {
      all: list.length,
      active: lines.size,
      off: list.flatMap((_, line) => (lines.has(line) ? [] : [whyOff(line, left, read, off)])),
    },
    secrets: secrets.files,
    ...(people && { adoption: people.adoption }),
  }
}

/** The names of models in the file, and the models that its patterns become here. */
function namesOf(models: readonly DraftModel[], left: readonly LeftOut[]): ReadonlySet<string> {
  return new Set([...models, ...left.filter(one => !one.isOfPattern)].map(one => one.name))
}

function whyOff(
  line: number,
  left: readonly LeftOut[],
  read: readonly (Deployment | LeftOut)[],
  off: ReadonlyMap<object, string>,
): Off {
  const out = left.find(one => one.line === line)
  if (out) return { name: out.name, why: out.why }
  const made = read.find((one): one is Deployment => 'way' in one && one.line === line)
  if (!made) return { name: String(line), why: 'it was not imported' }
  return {
    name: made.name,
    why: off.get(made) ?? (made.cost.kind === 'unknown' ? made.cost.why : 'its model is disabled'),
  }
}

/** Adds a named credential, which is defined once, in a list of its own. */
function addCredential(entry: Tracked, file: Tracked): void {
  const params = entry.in('litellm_params')
  const name = params.takeText('litellm_credential_name')
  if (name === undefined) return
  const found = file.each('credential_list')?.find(one => one.takeText('credential_name') === name)
  if (found) params.lend(fieldsOf(found.take('credential_values')))
}

/** Deployments with one name are one model: their limits add up, and the highest price applies. */
function gather(deployments: readonly Deployment[], upstreams: UpstreamBook, { note, lose }: Reporter) {
  const models = new Map<string, DraftModel>()
  const off = new Map<Deployment, string>()
  for (const [name, given] of Map.groupBy(deployments, one => one.name)) {
    const all = alikeOf(given)
    const [first] = all as [Deployment]
    const family = (all.find(one => one.cost.kind !== 'unknown') ?? first).family
    const kin = all.filter(one => one.family === family)
    for (const one of all.filter(other => other.family !== family)) {
      off.set(one, `its family is ${one.family}, but others of its name have the family ${family}`)
      note(
        `${name}: the deployment ${one.target} is left out: its family is ${one.family}, but the others have ${family}`,
      )
    }
    const priced = kin.filter(one => one.cost.kind !== 'unknown')
    const used = priced.length > 0 ? priced : kin
    for (const one of kin.filter(other => !used.includes(other))) {
      const why = one.cost.kind === 'unknown' ? one.cost.why : ''
      off.set(one, why)
      note(`${name}: the deployment ${one.target} is left out: ${why}`)
    }
    const cost = mostExpensive(used.map(one => one.cost))
    if (cost.kind === 'unknown') note(`${name}: ${cost.why}, so its line is commented out: add its prices`)
    if (new Set(used.map(one => writeCost(one.cost))).size > 1)
      note(`${name}: its deployments have different prices; all of them are charged as the most expensive`)
    const limits = used.map(one => one.rpm)
    if (limits.includes(undefined) && limits.some(rpm => rpm !== undefined))
      note(`${name}: rpm of some of its deployments is not translated: others have none and are not limited`)
    const [defaults] = used.map(one => one.defaults)
    const isAlike = new Set(used.map(one => writeDefaults(one.defaults))).size === 1
    if (!isAlike)
      note(
        `${name}: its deployments set different fields where clients send none (${used.map(one => `${one.target}: ${writeDefaults(one.defaults) ?? 'none'}`).join('; ')}); none is translated: set defaults of the model`,
      )
    models.set(name, {
      name,
      family,
      cost,
      routes: routesOf(
        used.map(one => one.way),
        upstreams,
      ),
      rpm: limits.includes(undefined) ? undefined : limits.reduce<number>((sum, rpm) => sum + (rpm ?? 0), 0),
      ends: used
        .map(one => one.ends)
        .filter(end => end !== undefined)
        .toSorted()[0],
      ...(isAlike && defaults && { defaults }),
    })
    for (const one of used)
      for (const other of one.fallbacks)
        lose(`${name}: the fallback ${textOf(other)} of one deployment is not translated`)
  }
  return { models, off }
}

/**
 * Deployments with one name have one format: chat, if some of them have no other and the vendors of the others serve it
 * as well.
 */
function alikeOf(all: readonly Deployment[]): readonly Deployment[] {
  if (!all.some(one => one.family === 'chat')) return all
  return all.map(one => (one.chat ? { ...one, ...one.chat, family: 'chat' } : one))
}

/** The total number of retries of a request. */
function retriesOf(section: Tracked): number | undefined {
  return section.takeAs('num_retries', value => {
    const count = typeof value === 'string' && value !== '' ? Number(value) : value
    return typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : undefined
  })
}

/** Another name for a model is a separate model, at the upstream of the first. @returns the model of each alias */
function addAliases(
  models: ReadonlyMap<string, DraftModel>,
  router: Tracked,
  note: (text: string) => void,
): ReadonlyMap<string, DraftModel> {
  const all = new Map<string, DraftModel>()
  const aliases = router.in('model_group_alias')
  for (const alias of aliases.keys()) {
    const given = aliases.take(alias)
    const name = typeof given === 'string' ? given : fieldsOf(given)['model']
    const model = typeof name === 'string' ? models.get(name) : undefined
    const no = whyNoName(alias) ?? (models.has(alias) ? 'a model of this name exists' : undefined)
    if (!model || no !== undefined)
      note(`${alias}: the alias of ${textOf(name)} is not translated: ${no ?? 'the model does not exist'}`)
    else {
      all.set(alias, model)
      if (isActive(model) && fieldsOf(given)['hidden'] === true)
        note(`${alias}: an alias cannot be hidden here; it is listed`)
      if (model.rpm !== undefined)
        note(
          `${alias}: its limit of ${model.rpm} requests per minute is separate from ${model.name}; in LiteLLM they share it`,
        )
    }
  }
  return all
}

/** LiteLLM's name for the models that have no fallbacks of their own. */
const anyModel = '*'

/**
 * Fallbacks are models here too. The fallbacks of image models, which charge each image by itself, become further
 * upstreams.
 */
function addFallbacks(
  named: ReadonlyMap<string, DraftModel>,
  aliases: ReadonlyMap<string, DraftModel>,
  sections: readonly Tracked[],
  reporter: Reporter,
): Map<string, DraftModel> {
  const models = new Map([...named, ...[...aliases].map(([name, model]) => [name, { ...model, name }] as const)])
  const result = new Map(models)
  const listed = (section: Tracked, key: string): readonly unknown[] =>
    listOf(section.takeAs(key, value => (Array.isArray(value) ? value : undefined)))
  const several = (others: unknown): readonly unknown[] => (Array.isArray(others) ? others : [others])
  const usual = sections.flatMap(section => listed(section, 'default_fallbacks'))
  /** Models with fallbacks of their own, and models whose own fallbacks are used after every failure. */
  const [configured, own] = [new Set<string>(), new Set<string>()]
  for (const [kind, when] of Object.entries(fallbackKinds))
    for (const section of sections)
      for (const [name, others] of listed(section, kind).flatMap(one => Object.entries(fieldsOf(one)))) {
        if (name === anyModel && when === undefined) usual.push(...several(others))
        else for (const other of several(others)) addFallback(result, { name, other, models, when }, reporter)
        configured.add(name)
        if (when === undefined) own.add(name)
      }
  for (const [alias, { name }] of aliases) {
    const model = result.get(name)
    if (!model || configured.has(alias) || !configured.has(name)) continue
    result.set(alias, { ...model, name: alias })
    if (own.has(name)) own.add(alias)
    reporter.note(`${alias}: it has the fallbacks of ${name}; LiteLLM uses none for requests by an alias`)
  }
  for (const other of usual) {
    const next = models.get(String(other))
    if (!next) reporter.lose(`the default fallback ${textOf(other)} is not translated: the model does not exist`)
    for (const [name, model] of models)
      if (next && !own.has(name) && name !== other && mayReplace(model, next))
        addFallback(result, { name, other, models, when: undefined }, reporter)
  }
  return result
}

/** Whether the other model accepts requests for this model, unchanged or translated. */
function mayReplace(model: DraftModel, next: DraftModel): boolean {
  const formats = formatsOf(model.family)
  return formatsOf(next.family).some(one => formats.includes(one))
}

function addFallback(
  result: Map<string, DraftModel>,
  {
    name,
    other,
    models,
    when,
  }: {
    readonly name: string
    readonly other: unknown
    readonly models: ReadonlyMap<string, DraftModel>
    readonly when: string | undefined
  },
  { note, lose }: Reporter,
): void {
  const [model, next] = [result.get(name), typeof other === 'string' ? models.get(other) : undefined]
  if (!model) return lose(`${name}: its fallback ${textOf(other)} is not translated: ${name} is not imported`)
  const isApart = model.family === imageFamily
  const why = !next ? 'the model does not exist' : whyNoFallback(model, next, isApart)
  if (!next || why !== undefined) return lose(`${name}: the fallback ${textOf(other)} is not translated: ${why}`)
  const known = new Set(model.routes.map(keyOf))
  const routes = next.routes.filter(one => !known.has(keyOf(one)))
  if (routes.length === 0)
    return note(`${name}: its fallback ${next.name} is the same model at the same upstream, so it has no effect`)
  if (isApart) {
    const priority = Math.max(...model.routes.map(one => one.priority))
    const further = routes.map(one => ({ ...one, priority: one.priority + priority }))
    result.set(name, { ...model, routes: [...model.routes, ...further] })
    note(
      `${name}: ${isActive(model) ? '' : 'once it has its prices, '}responses of its fallback ${next.name} are charged as ${name}`,
    )
  } else result.set(name, { ...model, fallbacks: [...new Set([...(model.fallbacks ?? []), next.name])] })
  if (when !== undefined) lose(`${name}: LiteLLM uses ${next.name} ${when}`)
}

function whyNoFallback(model: DraftModel, next: DraftModel, isApart: boolean): string | undefined {
  if (!mayReplace(model, next)) return `its family is not ${model.family}`
  if (!isActive(next)) return 'it is off'
  if (starsIn(next.name) > 0) return 'it is a pattern, and has no name that its upstream knows'
  if (isApart && model.cost.kind === 'free' && next.cost.kind !== 'free')
    return `${model.name} is free and it is not, so its use would not be charged`
  return undefined
}

const keyOf = ({ upstream, sendAs }: DraftRoute): string => JSON.stringify([upstream, sendAs])

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none')
}

/** The replacements for settings that many files have. */
const remedy: { readonly [key: string]: string } = {
  master_key: 'create keys with tollgate keys create, and the first administrator at /console',
  database_url: 'set storage',
  redis_host: 'set counters',
  redis_port: 'set counters',
  redis_password: 'set counters',
  redis_url: 'set counters',
  guardrails: guardrailRemedy,
  cache: 'set cache of the models (docs/answer-cache.md)',
  cache_params: 'set cache of the models (docs/answer-cache.md)',
  drop_params: 'set `forward` in the families to choose the forwarded fields',
  num_retries: 'retry_on and retry of the models say when a request is sent again',
  max_retries: 'retry_on and retry of the models say when a request is sent again',
  retry_after: 'set backoff in retry of the models; the next upstream is used immediately',
  retry_policy: 'set retry_on of the models',
  routing_strategy: 'upstreams are chosen by priority and weight',
  request_timeout: 'set timeouts at the upstreams',
  timeout: 'set timeouts at the upstreams',
  stream_timeout: 'set timeouts at the upstreams',
  allowed_fails: 'set cooldown at the upstreams',
  cooldown_time: 'set cooldown at the upstreams',
  max_parallel_requests: 'set concurrency in a group',
  max_budget: 'set budgets for keys, users and groups',
  budget_duration: 'set budgets per day, week, month or last days for keys, users and groups',
  provider_budget_config: 'set budgets for keys, users and groups',
  alerting: 'add webhooks, Slack or e-mail under events',
  budget_alert_ttl: 'a threshold of a budget sends one event per period',
  alert_types: 'choose the kinds of each receiver under events',
  alert_to_webhook_url: 'add webhooks, Slack or e-mail under events',
  success_callback: 'see /metrics, and tollgate logs --format json',
  failure_callback: 'see /metrics, and tollgate logs --format json',
  callbacks: 'see /metrics, and tollgate logs --format json',
  set_verbose: 'see tollgate logs',
  api_version: 'the upstream path needs none',
  include: 'merge the files, and import the result',
}

/** Settings that refuse, limit or replace: without them this gateway accepts requests that LiteLLM did not. */
const guards =
  /(?:^|[._])guardrails?(?:$|[._[])|(?:^|\.)(?:\w{1,64}_)?fallbacks(?:$|[.[])|budget(?!_rescheduler|_metrics|_alert)/

/** Callbacks that are guards rather than logs. */
const guardCallback =
  /presidio|guard|moderation|prompt_injection|hide_secrets|banned_keywords|blocked_user|lakera|aporia|pillar/i

/** A sentence for each unused setting; settings of models are grouped by name. */
function describeLeft(file: Tracked, list: readonly Tracked[]): readonly { text: string; isLoss: boolean }[] {
  const ofModels = new Map<string, Set<string>>()
  for (const entry of list)
    for (const path of entry.left()) {
      const key = path === entry.path ? 'the line' : path.slice(entry.path.length + 1)
      const names = ofModels.get(key) ?? new Set()
      ofModels.set(key, names.add(entry.takeText('model_name') ?? entry.path))
    }
  for (const entry of list) entry.report()
  // Settings of an unread section are reported one by one.
  for (const key of file.keys()) if (key !== 'model_list' && Object.keys(file.peek(key)).length > 0) file.in(key)
  const ofEachModel = [...ofModels].map(([key, names]) => ({ text: `${fewOf([...names])}: ${key}`, path: key }))
  const guardrails = takeGuardrails(file)
  const left = [...ofEachModel, ...file.left().map(path => ({ text: path, path }))].map(({ text, path }) => {
    const own = remedy[/(\w{1,64})(?:\[\d{1,6}\])?$/.exec(text)?.[1] ?? '']
    const isLoss = guards.test(path) || (path.endsWith('callbacks') && guardCallback.test(textOf(valueAt(file, path))))
    return { text: own === undefined ? `not translated: ${text}` : `not translated: ${text}: ${own}`, isLoss }
  })
  return [...guardrails.map(text => ({ text, isLoss: true })), ...left]
}

/** A sentence for each guardrail of the file. */
function takeGuardrails(file: Tracked): readonly string[] {
  const list = file.takeAs('guardrails', value => (Array.isArray(value) && value.length > 0 ? value : undefined)) ?? []
  return list.map((one: unknown) => {
    const { guardrail_name: name, litellm_params: params } = fieldsOf(one)
    const kind = fieldsOf(params)['guardrail']
    const of = typeof kind === 'string' ? ` (${kind})` : ''
    return `not translated: guardrails: ${textOf(name ?? one)}${of}: ${guardrailRemedy}`
  })
}

const mostNames = 4

/** In long files all models may have the same settings. */
function fewOf(names: readonly string[]): string {
  if (names.length <= mostNames) return names.join(', ')
  return `${names.slice(0, mostNames - 1).join(', ')} and ${names.length - mostNames + 1} more`
}

/** The value of a setting in a section, without using it. */
function valueAt(file: Tracked, path: string): unknown {
  const [section = '', key = ''] = path.split('.')
  return file.peek(section)[key]
}
