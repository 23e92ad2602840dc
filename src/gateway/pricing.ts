import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Model,
  notesOf,
  pricedModels,
  type CompiledConfig,
  type PriceAsk,
  type PricedModel,
  type PriceList,
  Slots,
} from '../domain/index.ts'
import { onceFor } from '../util/index.ts'
import { concerned, explainRequest, operationsOf } from './explain.ts'

const lists = new WeakMap<CompiledConfig, Promise<PriceList>>()
/** The prices of this many models take milliseconds. */
const together = 8

/** The prices of all offered models; computed once for a plan. Requests run between the steps. */
export function priceList(plan: CompiledConfig): Promise<PriceList> {
  return onceFor(lists, plan, () => priceAll(plan))
}

async function priceAll(plan: CompiledConfig): Promise<PriceList> {
  const models: PricedModel[] = []
  for (const [i, model] of pricedModels(plan).entries()) {
    if (i % together === together - 1) await nextTurn()
    if (model.enabled) models.push(priceModel(plan, model))
  }
  return { currency: plan.currency, models }
}

/** Each plugin's prices for a model, in the order of the pipeline. */
function priceModel(plan: CompiledConfig, model: Model): PricedModel {
  const { family, free, name, ends } = model
  const operations = operationsOf(plan, model)
  // A wildcard has the price of any matching name without a price of its own.
  const own = model.wildcard === name ? { ...plan, models: new Map([[name, model]]) } : plan
  const ask: PriceAsk = {
    model,
    family,
    operations,
    slots: new Slots(),
    explain: request => explainRequest(own, { ...request, model: name }),
  }
  const prices = concerned(plan, family).flatMap(({ plugin, facet }) => plugin.prices?.(ask, facet) ?? [])
  return {
    name,
    family: family.name,
    operations,
    free,
    ...(ends && { ends: ends.date }),
    notes: notesOf(model),
    images: prices.find(one => one.images)?.images ?? null,
    units: prices.flatMap(one => one.units ?? []),
    overrides: prices.flatMap(one => one.overrides ?? []),
    times: prices.flatMap(one => one.times ?? []),
  }
}
