import { type CompiledConfig, type Model, notesOf, type PricedModel, serves } from '../../domain/index.ts'
import { formatMoney } from '../../util/index.ts'
import { showLimits } from '../../domain/shapes/limits.ts'
import { explainAnswer, modelsAnswer, sessionKeyAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { newSessionKey } from '../session/sessions.ts'
import { personOf, sessionUserOf } from '../session-user.ts'

const perUnitDefault = 1

/** A model in the form for the console; `per` is the quantity of a unit for its price. */
function modelRecord(request: AdminRequest, plan: CompiledConfig, model: Model, priced: PricedModel | undefined) {
  const per = new Map(priced?.units.map(unit => [unit.unit, unit.per]))
  return {
    name: model.name,
    family: model.family.name,
    operations: priced?.operations ?? [],
    upstreams: model.upstreams.map(({ upstream }) => upstream.name),
    prices: [...model.prices].map(([unit, { micros, origin }]) => ({
      unit,
      price: formatMoney(micros),
      currency: plan.currency,
      per: per.get(unit) ?? perUnitDefault,
      at: `${origin.file}:${origin.line}`,
    })),
    overrides: (priced?.overrides ?? []).map(one => ({
      if: one.if,
      prices: one.units.map(price => ({ ...price, currency: plan.currency })),
    })),
    times: priced?.times ?? [],
    free: model.free,
    limits: showLimits(model.limits),
    ends: model.ends?.date ?? null,
    notes: notesOf(model),
    streams: [...model.family.streams],
    enabled: model.enabled,
    usable: serves(plan.groups.get(sessionUserOf(request).user.group)?.models, model.name),
  }
}

/** Every name with a price, and all wildcards, even those without names. */
function listedModels({ models, wildcards = [] }: CompiledConfig): readonly Model[] {
  return [...models.values(), ...wildcards]
}

export const modelRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/models',
    access: 'user',
    summary: 'List models with their prices and the location of each price in the configuration.',
    answer: modelsAnswer,
    async handle(request) {
      const plan = request.parts.plan()
      const priced = new Map((await request.parts.prices(plan)).models.map(one => [one.name, one]))
      return { models: listedModels(plan).map(model => modelRecord(request, plan, model, priced.get(model.name))) }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/explain',
    access: 'user',
    summary: 'Explain how a request would be handled and what it would cost, without sending it.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['model', 'operation'],
      properties: {
        model: { type: 'string', minLength: 1, maxLength: 200 },
        operation: { type: 'string', minLength: 1, maxLength: 100 },
        size: { type: ['string', 'null'], maxLength: 100 },
        quality: { type: ['string', 'null'], maxLength: 100 },
        n: { type: 'integer', minimum: 1, maximum: 1_000, default: 1 },
      },
    },
    answer: explainAnswer,
    handle({ parts, body }) {
      const { model, operation, size, quality, n } = body
      const request = { model, operation, n, size: size ?? undefined, quality: quality ?? undefined }
      return parts.explain(parts.plan(), request)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/playground/key',
    access: 'keys',
    summary: 'Create an API key for the playground. It is valid for at most one hour and ends with the session.',
    answer: sessionKeyAnswer,
    handle: request => newSessionKey(request.parts, personOf(request)),
  }),
]
