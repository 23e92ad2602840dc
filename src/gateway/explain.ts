import { scanObject } from '../engine/fields.ts'
import { modelNotFound } from '../engine/errors.ts'
import { isRepeatable } from '../engine/retries.ts'
import { applyForward, findTarget } from '../engine/target.ts'
import {
  type Body,
  type CachePolicy,
  type ExplainedFallback,
  Failure,
  type Family,
  type ImaginedRequest,
  type Imagined,
  type Json,
  type KnownPlugin,
  type Model,
  type CompiledConfig,
  type PriceQuote,
  priceOfHit,
  type Quote,
  type RequestExplanation,
  type Rerouted,
  type Route,
  shortPlace,
  Slots,
} from '../domain/index.ts'
import type { Target } from '../plugin-api/index.ts'
import { formatMoney, type Micros, systemClock } from '../util/index.ts'

/**
 * Explains a request without sending it: calls the plan's plugins in order, as for a real request.
 * @throws Failure the refusal of the gateway
 */
export function explainRequest(plan: CompiledConfig, request: ImaginedRequest): RequestExplanation {
  const { operation, body: requestBody, dropped: lost } = imagineRoute(plan, request)
  const route = plan.routes.find(one => one.operation === operation)
  const target = route && findTarget(plan, route, requestBody, undefined, request.aliases)
  const model = target ? target.model : plan.models.get(nameOf(request))
  const body = target?.body ?? requestBody
  if (!model?.enabled) throw modelNotFound(plan, request.model)
  const { family } = model
  const sendAs = model.upstreams[0]?.sendAs ?? model.name
  const shaped = applyForward(body, family.forward.get(operation), target ?? { model, sendAs }, route?.modelField)
  const { uses, multiplier, at = systemClock.now() } = request
  const imagined = {
    operation,
    traits: route?.traits,
    model,
    family,
    body,
    out: shaped.body,
    slots: new Slots(),
    at,
    ...(uses && { uses }),
    ...(multiplier !== undefined && { multiplier }),
  }
  const { out, quotes } = askPlugins(plan, imagined)
  const dropped = quotes.flatMap(quote => quote.dropped ?? [])
  const expected = quotes.findLast(quote => quote.expected)?.expected
  const price = combinePrices(quotes.flatMap(quote => quote.price ?? []))
  const fallbacks = explainFallbacks(plan, model, request)
  return {
    model: model.name,
    alias: model.name === request.model ? null : request.model,
    family: family.name,
    operation,
    upstream: model.upstreams[0]?.upstream.name ?? '',
    route: route ? `${route.method} ${route.path}` : null,
    forwarded: shaped.forwarded.filter(name => !dropped.includes(name)),
    dropped: [...lost, ...shaped.dropped, ...dropped],
    sent: sentFields(out),
    expected_size: expected?.size ?? null,
    expected_resolution: expected?.resolution ?? null,
    expected_ratio: expected?.ratio ?? null,
    quote: price ? writePrice(price, plan.currency) : null,
    retry: route && target ? explainRetry(route, target) : null,
    cache: route ? explainCache(route, quotes.find(({ kept }) => kept)?.kept, price?.expected ?? null) : null,
    ...(fallbacks.length > 0 && { fallbacks }),
    warnings: quotes.flatMap(quote => quote.warnings ?? []),
    mismatch: quotes.find(quote => quote.mismatch)?.mismatch ?? null,
  }
}

function explainFallbacks(
  plan: CompiledConfig,
  { fallbacks = [] }: Model,
  request: ImaginedRequest,
): readonly ExplainedFallback[] {
  return [...new Set(fallbacks.flatMap(({ fallback }) => fallback?.name ?? []))].map(name => {
    try {
      const explained = explainRequest(plan, { ...request, model: name, aliases: undefined })
      const { model, upstream, operation, dropped, sent, quote } = explained
      return { model, upstream, operation, dropped, sent, at_most: quote?.at_most ?? null }
    } catch (error) {
      if (error instanceof Failure) return { model: name, refused: error.message }
      throw error
    }
  })
}

/** The gateway's name for the requested model. */
function nameOf({ model, aliases }: ImaginedRequest): string {
  return aliases?.get(model) ?? model
}

function explainCache(route: Route, policy: CachePolicy | undefined, full: Micros | null): RequestExplanation['cache'] {
  const isImage = route.traits?.images !== undefined
  if (!policy || (isImage ? !policy.images : !route.repeatable)) return null
  const { each, timesMicros, at } = policy.hit
  const expected = timesMicros === 0 ? each : full === null ? null : priceOfHit({ full, each, timesMicros })
  return {
    for_ms: policy.forMs,
    per: policy.per,
    keys: policy.keys,
    each: formatMoney(each),
    times: formatMoney(timesMicros),
    price_at: shortPlace(at),
    expected: expected === null ? null : formatMoney(expected),
  }
}

function explainRetry(route: Route, target: Target): RequestExplanation['retry'] {
  const { retry } = target.model
  if (!retry) return null
  return { on: [...retry.on], attempts: retry.attempts, if_sold: retry.paysTwice || isRepeatable({ route }, target) }
}

/** Each plugin gets the request as changed by the earlier plugins. */
function askPlugins(plan: CompiledConfig, first: Imagined): { readonly out: Body; readonly quotes: readonly Quote[] } {
  let { out } = first
  const quotes: Quote[] = []
  for (const { plugin, facet } of concerned(plan, first.family)) {
    const quote = plugin.quote?.({ ...first, out }, facet)
    if (!quote) continue
    quotes.push(quote)
    out = quote.out ?? out
  }
  return { out, quotes }
}

/** The plugins that act on a family, each with its section and options. */
export function concerned(
  { plugins, pipeline }: CompiledConfig,
  { facets }: Family,
): readonly { readonly plugin: KnownPlugin; readonly facet: never; readonly options: never }[] {
  return (
    plugins.inUse
      // The plugins' own schemas have validated these values, and their types follow from the schemas.
      .map((plugin, i) => ({
        plugin,
        facet: facets.get(plugin.name) as never,
        options: pipeline[i]?.options as never,
      }))
      .filter(({ plugin }) => plugin.facet === undefined || facets.has(plugin.name))
  )
}

/** The operations of a model. A family without a list of operations supports all. */
export function operationsOf(plan: CompiledConfig, { family: { forward } }: Model): readonly string[] {
  const routed = new Set(plan.routes.filter(route => route.serve === undefined).map(route => route.operation))
  return [...routed].filter(operation => forward.size === 0 || forward.has(operation))
}

/** The price of a request with several charges: of its images, and of its usage. */
function combinePrices([first, ...others]: readonly PriceQuote[]): PriceQuote | undefined {
  return first && others.reduce(addPrice, first)
}

function addPrice(one: PriceQuote, other: PriceQuote): PriceQuote {
  const both = one.expected === null || other.expected === null ? null : one.expected + other.expected
  return {
    ...one,
    expected: other.instead ? one.expected : both,
    atMost: one.atMost + other.atMost,
    ...(other.units && { units: other.units }),
  }
}

function writePrice(quoted: PriceQuote, currency: string): NonNullable<RequestExplanation['quote']> {
  return {
    currency,
    n: quoted.n,
    tier: quoted.tier,
    source: quoted.source,
    price: quoted.price === null ? null : formatMoney(quoted.price),
    price_at: quoted.priceAt === null ? null : shortPlace(quoted.priceAt),
    expected: quoted.expected === null ? null : formatMoney(quoted.expected),
    at_most: formatMoney(quoted.atMost),
    prices: Object.fromEntries(quoted.prices.map(({ tier, price }) => [tier, formatMoney(price)])),
    ...(quoted.units && {
      units: quoted.units.map(({ at, price, amount, ...row }) => ({
        ...row,
        price: formatMoney(price),
        price_at: shortPlace(at),
        amount: amount === null ? null : formatMoney(amount),
      })),
    }),
    ...(quoted.beside && {
      beside: quoted.beside.map(({ at, price, ...row }) => ({
        ...row,
        price: formatMoney(price),
        price_at: shortPlace(at),
      })),
    }),
  }
}

/** The request with which the gateway would continue: the given one, or a plugin's conversion of it. */
function imagineRoute(
  plan: CompiledConfig,
  request: ImaginedRequest,
): Pick<Rerouted, 'operation' | 'body' | 'dropped'> {
  const { operation } = request
  const body = imagineBody(request, plan.routes.find(one => one.operation === operation)?.modelField)
  const model = plan.models.get(nameOf(request))
  const own = { operation, body, dropped: [] }
  if (!model?.enabled || !model.accepts) return own
  const ask = { operation, model, body, stream: undefined, parseObject: scanObject }
  for (const { plugin, facet, options } of concerned(plan, model.family)) {
    const rerouted = plugin.reroute?.(ask, facet, options)
    if (rerouted) return rerouted
  }
  return own
}

function imagineBody(request: ImaginedRequest, modelField = 'model'): Body {
  const { model, size, quality, n } = request
  const fields = {
    [modelField]: model,
    ...(n !== undefined && { prompt: '…', n }),
    ...(size !== undefined && { size }),
    ...(quality !== undefined && { quality }),
    ...request.fields,
  }
  return { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(fields))) }
}

function sentFields(body: Body): { readonly [field: string]: Json } {
  if (body.kind !== 'json') return {}
  return Object.fromEntries(body.json.names().map(name => [name, body.json.get(name) ?? null]))
}
