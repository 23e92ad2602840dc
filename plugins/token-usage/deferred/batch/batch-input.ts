import {
  type Body,
  callerSlot,
  type Failure,
  type Host,
  imageToolOf,
  type JsonObjectView,
  mayAsk,
  type Micros,
  type Model,
  nameOn,
  type OperationTraits,
  type RequestContext,
  serves,
  type Target,
  type UsageRule,
  withField,
} from '../../../../src/plugin-api/index.ts'
import { fail } from '../../errors.ts'
import { rateMost } from '../../quote-request.ts'
import { refuseUnpriced } from '../../refuse-unpriced.ts'
import type { UsageFacet } from '../../schema.ts'
import { isFree, policyOf, usageRule } from '../../usage-rule.ts'

/** The maximum number of objects that the requests of a batch may refer to. */
const referencesMax = 10_000

/** The model of a batch, and the pricing of its usage. Without a rule, its requests are free. */
export type BatchModel = {
  readonly model: Model
  readonly facet: UsageFacet | undefined
  readonly rule: UsageRule | undefined
}

type Terms = {
  readonly context: RequestContext
  readonly target: Target
  /** Operation of each request. */
  readonly operation: string
  readonly traits: OperationTraits | undefined
  /** Whether the requests are in a file. It is not rewritten, so they use the upstream's names of models. */
  readonly isFile: boolean
  readonly tier: string
  readonly parseObject: Host['parseObject']
}

/** The error for a line or an element that cannot be read. */
export function invalidLine(place: string, cause: unknown): Failure {
  const why = (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, '')
  return fail('batch_line_invalid', { place, why }, { param: place, cause })
}

/** Checks the requests of a batch one by one, as if each were sent separately, and adds up their maximum cost. */
export class BatchInput {
  readonly #terms: Terms
  readonly #objects = new Map<
    string,
    { readonly kind: JsonObjectView['declared']['objects'][number]['kind']; readonly id: string }
  >()
  #found: BatchModel | undefined
  #name = ''
  count = 0
  most: Micros = 0

  constructor(terms: Terms) {
    this.#terms = terms
  }

  /** @throws Failure batch_empty */
  get model(): BatchModel {
    if (!this.#found) throw fail('batch_empty')
    return this.#found
  }

  /** The objects that the requests refer to. */
  get objects() {
    return [...this.#objects.values()]
  }

  /**
   * @param bytes body of a request
   * @param place its position: `line 3`, `requests[2]`
   * @throws Failure batch_line_invalid, batch_model_unavailable, batch_models_mixed, batch_tool_refused, unpriced
   */
  add(bytes: Buffer, place: string): void {
    const json = this.#parse(bytes, place)
    const body: Body = { kind: 'json', json }
    const name = json.get('model')
    if (typeof name !== 'string' || name === '')
      throw fail('batch_line_invalid', { place, why: 'it names no model' }, { param: place })
    const { model, facet, rule } = this.#modelNamed(name, place)
    this.#checkDeclared(model, body, json, place)
    this.count++
    if (!rule || !facet) return
    const { traits, tier } = this.#terms
    if (policyOf(model, facet) === 'refuse') refuseUnpriced(model, rule, withField(body, 'service_tier', tier))
    this.most += rateMost(rule, body, facet, traits).amount
  }

  #parse(bytes: Buffer, place: string): JsonObjectView {
    try {
      return this.#terms.parseObject(bytes)
    } catch (error) {
      throw invalidLine(place, error)
    }
  }

  #modelNamed(name: string, place: string): BatchModel {
    if (this.#found && name === this.#name) return this.#found
    if (this.#found) throw fail('batch_models_mixed', { one: this.#name, other: name, place }, { param: place })
    const model = this.#findModel(name)
    if (!model) throw fail('batch_model_unavailable', { model: name, place }, { param: place })
    this.#name = name
    this.#found = this.#priced(model)
    return this.#found
  }

  #findModel(name: string): Model | undefined {
    const { context, target, operation, isFile } = this.#terms
    const caller = context.slots.need(callerSlot)
    const isUsable = (model: Model): boolean => {
      const { forward } = model.family
      if (!model.enabled || !mayAsk(caller, model.name) || (forward.size > 0 && !forward.has(operation))) return false
      return nameOn(target.upstream, model) !== undefined
    }
    const own = context.plan.models.get(isFile ? name : (caller.group.aliases?.get(name) ?? name))
    if (!isFile) return own && isUsable(own) ? own : undefined
    const isNamed = (model: Model): boolean => nameOn(target.upstream, model) === name && isUsable(model)
    return own && isNamed(own) ? own : context.plan.models.values().find(isNamed)
  }

  #priced(model: Model): BatchModel {
    const { context, operation, traits } = this.#terms
    const facet = model.family.facets.get('token-usage') as UsageFacet | undefined
    if (!facet || isFree({ operation, traits }, facet)) return { model, facet, rule: undefined }
    return { model, facet, rule: usageRule(model, context.slots.need(callerSlot).group.multiplier) }
  }

  /** Checks the declarations of a request as its own endpoint does. */
  #checkDeclared({ name, family }: Model, body: Body, json: JsonObjectView, place: string): void {
    const { tools, models, objects } = json.declared
    const drawing = imageToolOf(body)
    const refused =
      drawing ?? (family.vendorTools && tools.find(one => !one.isPart && !serves(family.vendorTools, one.name)))
    const doubled = tools.find(({ isDoubled }) => isDoubled)
    const tool = refused ?? doubled
    if (tool) throw fail('batch_tool_refused', { tool: tool.name, model: name, place }, { param: place })
    const other = models.find(one => one.name !== this.#name)
    if (other) throw fail('batch_models_mixed', { one: this.#name, other: other.name, place }, { param: place })
    for (const { kind, id } of objects) {
      if (serves(family.sharedObjects ?? [], id)) continue
      this.#objects.set(`${kind} ${id}`, { kind, id })
      if (this.#objects.size > referencesMax)
        throw fail('batch_line_invalid', { place, why: `the batch names more than ${referencesMax} objects` })
    }
  }
}
