import { attributionSlot } from '../domain/labels.ts'
import { callerSlot } from '../domain/caller.ts'
import type { ChargeFacts, ChargeRule } from '../domain/charge.ts'
import type { RequestContext, Target } from './request-context.ts'
import { type Level, levelsOf } from '../domain/levels.ts'

/**
 * The facts that all charges of a request have in common. The charging plugin adds its own. Requires the caller's slot.
 */
export function chargeFacts(
  context: RequestContext,
  { family, model, upstream }: Target,
  own: { readonly rule: ChargeRule } & Partial<Pick<ChargeFacts, 'id' | 'size' | 'quality' | 'n'>>,
): ChargeFacts {
  const caller = context.slots.need(callerSlot)
  const { key, group } = caller
  const attribution = context.slots.get(attributionSlot)
  const facts: ChargeFacts = {
    id: own.id ?? context.id,
    keyId: key.id,
    user: key.user,
    group: group.name,
    operation: context.route.operation,
    model: model.name,
    family: family.name,
    upstream: upstream.name,
    configRevision: context.plan.revision,
    currency: context.plan.currency,
    size: own.size ?? null,
    quality: own.quality ?? null,
    n: own.n ?? 1,
    rule: own.rule,
    ...(attribution && attribution.ids !== '' && { attribution: attribution.ids }),
  }
  const levels = levelsOf(caller, attribution)
  if (levels.length > 0) levelsOfFacts.set(facts, levels)
  return facts
}

/** The budget accounts of a charge, by its facts. A plugin that holds money need not know which accounts apply. */
const levelsOfFacts = new WeakMap<ChargeFacts, readonly Level[]>()

/** The accounts, in addition to the key, that limit the amount of a charge. `facts` must be from `chargeFacts`. */
export function boundsOf(facts: ChargeFacts): readonly Level[] | undefined {
  return levelsOfFacts.get(facts)
}
