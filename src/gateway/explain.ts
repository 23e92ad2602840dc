import { countPaths, quote, readCount, shapeFields } from '../../plugins/image-tier-billing/index.ts'
import { checkSize, chooseShape, readAskedSize, readRule, sendFields } from '../../plugins/size-normalize/index.ts'
import { scanObject } from '../engine/fields.ts'
import { applyForward, findTarget, modelNotFound } from '../engine/target.ts'
import {
  type Body,
  formatMoney,
  type ImaginedRequest,
  type Json,
  type Plan,
  type RequestExplanation,
  withFields,
} from '../kit/index.ts'

/**
 * Explains a request without making it.
 * @throws Failure the one that the gateway would answer with
 */
export function explainRequest(plan: Plan, request: ImaginedRequest): RequestExplanation {
  const route = plan.routes.find(one => one.operation === request.operation)
  const body = imagineBody(request)
  const model = route ? findTarget(plan, route, body, undefined).model : plan.models.get(request.model)
  if (!model?.enabled) throw modelNotFound(request.model)
  const { family } = model
  const rule = family.forward.get(request.operation)
  const shaped = applyForward(body, rule, { model, sendAs: model.upstreams[0]?.sendAs ?? model.name })
  const sizes = family.facets.get('size-normalize') as Parameters<typeof readAskedSize>[0] | undefined
  const billing = family.facets.get('image-tier-billing') as Parameters<typeof quote>[0]['facet'] | undefined
  const asked = sizes && readAskedSize(sizes, request.operation, request.size)
  if (asked && sizes) checkSize(sizes, request.operation, asked, model.name)
  const n = billing ? readCount(body, family.nMax, countPaths(billing)) : request.n
  const changes =
    asked && sizes ? sendFields(sizes, request.operation, asked.size) : new Map<string, Json | undefined>()
  const quoted = billing && asked && quote({ facet: billing, family, model, asked, n })
  const row = quoted?.rule.tiers.find(tier => tier.tier === quoted.expected?.tier)
  const sized = withFields(shaped.body, changes)
  const sent = billing ? shapeFields(sized, countPaths(billing)) : { body: sized, dropped: [] }
  return {
    model: model.name,
    family: family.name,
    operation: request.operation,
    upstream: model.upstreams[0]?.upstream.name ?? '',
    route: route ? `${route.method} ${route.path}` : null,
    forwarded: shaped.forwarded.filter(name => !sent.dropped.includes(name)),
    dropped: [...shaped.dropped, ...sent.dropped],
    sent: sentFields(sent.body),
    expected_size: asked?.expected ? `${asked.expected.width}x${asked.expected.height}` : null,
    expected_resolution: asked?.resolution ?? null,
    expected_ratio: asked && sizes ? chooseShape(readRule(sizes), request.operation, asked.size).ratio : null,
    quote: quoted
      ? {
          currency: plan.currency,
          n: quoted.n,
          tier: quoted.expected?.tier ?? null,
          source: quoted.expected?.source ?? null,
          price: quoted.expected && formatMoney(quoted.expected.price),
          price_at: row?.at ?? null,
          expected: quoted.expectedAmount === null ? null : formatMoney(quoted.expectedAmount),
          at_most: formatMoney(quoted.atMost),
          prices: Object.fromEntries(quoted.rule.tiers.map(tier => [tier.tier, formatMoney(tier.price)])),
        }
      : null,
    warnings: quoted?.rule.warnings ?? [],
    mismatch: quoted?.mismatch ?? null,
  }
}

function imagineBody(request: ImaginedRequest): Body {
  const { model, size, quality, n } = request
  const fields = {
    model,
    prompt: '…',
    n,
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
