import {
  type Body,
  type Failure,
  fieldNames,
  type ForwardRule,
  isEmptyField,
  type Json,
  type Model,
  type CompiledConfig,
  readField,
  type Route,
  withField,
  withFields,
} from '../domain/index.ts'
import type { Target } from '../plugin-api/index.ts'
import { checkTools } from './check-tools.ts'
import { fail, modelNotFound } from './errors.ts'
import { checkTogether, mayNameFurther, namedIn, namesOfOthers, readFurther, renameFurther } from './fallback-models.ts'
import { isForwarded } from './forwarded-fields.ts'

/**
 * The model that the body names, or an alias of the caller's group for it, with its family and upstream.
 * @throws Failure missing_required_parameter, invalid_type, model_not_found, operation_unsupported,
 * streaming_unsupported, and those of `withFurther`
 */
export function findTarget(
  plan: CompiledConfig,
  route: Route,
  body: Body,
  named: string | undefined,
  aliases?: ReadonlyMap<string, string>,
): Target {
  const field = modelFieldOf(route)
  const name = named ?? readField(body, field)
  if (name === undefined || name === null || name === '') {
    const place = modelPlaceOf(route)
    throw fail('missing_required_parameter', { name: place }, { param: place })
  }
  if (typeof name !== 'string')
    throw fail('invalid_type', { name: field, expected: 'a string', found: typeName(name) }, { param: field })
  const model = plan.models.get(aliases?.get(name) ?? name)
  if (!model || !model.enabled) throw modelNotFound(plan, name, field)
  const { family } = model
  if (family.forward.size > 0 && !family.forward.has(route.operation))
    throw fail('operation_unsupported', { model: name, operation: routeText(route), takes: takenBy(plan, family) })
  const stream = route.stream === 'field' ? wantsStream(body) : route.stream === 'always'
  const filled = fill(body, model, route.operation)
  // An SDK that requested a stream reads a plain answer as an empty one: refuse, never downgrade silently.
  if (stream && !family.streams.has(route.operation)) throw fail('streaming_unsupported', { model: name })
  const own = targetOn(model, route, filled, stream)
  const target = aliases ? { ...own, aliases, ...(model.name !== name && { alias: name }) } : own
  return mayNameFurther(filled, family) ? withFurther(plan, route, target) : target
}

/** The field of a route's requests that names the model. */
export function modelFieldOf({ modelField = 'model' }: Pick<Route, 'modelField'>): string {
  return modelField
}

/** Where a request names its model: the requests of a batch name it one by one. */
function modelPlaceOf(route: Route): string {
  const { requests } = route.deferred?.batch ?? {}
  return requests && 'list' in requests ? `${requests.list}[0].${requests.body}.model` : modelFieldOf(route)
}

/**
 * The target with the models that the body names in addition to its own, once its tools are checked.
 * @throws Failure vendor_tool_refused, tool_repeated, model_not_found, models_not_together
 */
function withFurther(plan: CompiledConfig, { operation, runsNoTools }: Route, target: Target): Target {
  const { model, family, body, aliases } = target
  const nameOf = (given: string): string => aliases?.get(given) ?? given
  const rule = family.forward.get(operation)
  const others = runsNoTools ? [] : namedIn(body, rule)
  if (!runsNoTools) checkTools(model, body, rule)
  const find = (other: string): Model | undefined => {
    const known = plan.models.get(nameOf(other))
    return known?.enabled ? known : undefined
  }
  const unknown = (other: string, place: string): Failure => modelNotFound(plan, other, place)
  const alsoNamed = family.vendorTools ? [] : namesOfOthers(others, model, nameOf)
  // The model itself may be named again: each request of a list names it.
  const named = others.filter(one => !alsoNamed.includes(one))
  const further = readFurther(model, body, { rule, named, find, unknown })
  if (further) checkTogether(model, further)
  const own = alsoNamed.length > 0 ? { ...target, alsoNamed } : target
  return further ? { ...own, further } : own
}

/** A request on the first upstream of its model. */
export function targetOn(model: Model, { operation }: Route, body: Body, stream: boolean): Target {
  const { family } = model
  const [first] = model.upstreams
  if (!first) throw new Error(`model ${model.name} has no upstream`)
  const { upstream, sendAs } = first
  return {
    model,
    family,
    upstream,
    sendAs,
    body,
    stream,
    chargesItems: family.chargesItems?.(operation, body) === true,
  }
}

/** The most routes that a refusal lists. */
const namedMost = 6

/** The paths of a family, each by its first spelling. */
function takenBy({ routes }: CompiledConfig, { forward }: Target['family']): string {
  const taken = routes.filter(({ operation, path, upstreamPath }) => path === upstreamPath && forward.has(operation))
  return taken.slice(0, namedMost).map(routeText).join(', ') || 'nothing that this gateway has a route for'
}

function routeText({ method, path }: Route): string {
  return `${method} ${path}`
}

/** The body with what the model, or else its family, has for absent fields. */
function fill(body: Body, { defaults, family }: Model, operation: string): Body {
  const own = defaults?.get(operation)
  const filled = own ? withDefaults(body, own) : body
  return family.defaults ? withDefaults(filled, family.defaults) : filled
}

function withDefaults(body: Body, defaults: ReadonlyMap<string, Json>): Body {
  const missing = [...defaults].filter(([name]) => isEmptyField(readField(body, name)))
  return missing.length === 0 ? body : withFields(body, new Map(missing))
}

function wantsStream(body: Body): boolean {
  const value = readField(body, 'stream')
  if (isEmptyField(value) || value === false) return false
  if (value === true) return true
  if (body.kind === 'form' && (value === 'true' || value === 'false')) return value === 'true'
  throw fail('invalid_type', { name: 'stream', expected: 'a boolean', found: typeName(value) }, { param: 'stream' })
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

/**
 * The client's fields that are forwarded. The plugin that reads forms handles their files.
 * @param field the one that names the model
 */
export function applyForward(
  body: Body,
  rule: ForwardRule | undefined,
  target: Pick<Target, 'model' | 'sendAs'> & Partial<Pick<Target, 'upstream' | 'further' | 'alias' | 'aliases'>>,
  field = 'model',
): { readonly body: Body; readonly forwarded: readonly string[]; readonly dropped: readonly string[] } {
  const { model, upstream, sendAs, further, alias = model.name, aliases } = target
  const written = readField(body, field)
  // If the path names the model, the body's model is corrected too: upstreams may use either.
  const name = typeof written === 'string' && written === `models/${alias}` ? `models/${sendAs}` : sendAs
  const own = written === undefined || written === name ? body : withField(body, field, name)
  const renamed = further && upstream ? renameFurther(own, model, upstream, { further, aliases }) : own
  const names = fieldNames(renamed)
  if (!rule) return { body: renamed, forwarded: names, dropped: [] }
  const isSent = (name: string): boolean => isForwarded(rule, name)
  const forwarded: string[] = []
  const dropped: string[] = []
  for (const name of names) (isSent(name) ? forwarded : dropped).push(name)
  if (dropped.length === 0) return { body: renamed, forwarded, dropped }
  if (renamed.kind === 'json') return { body: { kind: 'json', json: renamed.json.pick(isSent) }, forwarded, dropped }
  if (renamed.kind === 'form') {
    const parts = renamed.parts.filter(part => part.kind === 'file' || isSent(part.name))
    const files = new Set(parts.filter(part => part.kind === 'file').map(part => part.name))
    return {
      body: { ...renamed, parts },
      forwarded: [...forwarded, ...files].filter((name, i, all) => all.indexOf(name) === i),
      dropped: dropped.filter(name => !files.has(name)),
    }
  }
  return { body: renamed, forwarded, dropped }
}
