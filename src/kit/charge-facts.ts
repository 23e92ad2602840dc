import { callerSlot } from './caller.ts'
import type { ChargeFacts, ChargeRule } from './charge.ts'
import type { Exchange, Target } from './exchange.ts'

/** What is said alike of every charge of a request; the rest is the charging plugin's own. Needs the caller. */
export function chargeFacts(
  ex: Exchange,
  { family, model, upstream }: Target,
  own: { readonly rule: ChargeRule } & Partial<Pick<ChargeFacts, 'id' | 'size' | 'quality' | 'n'>>,
): ChargeFacts {
  const { key, group } = ex.slots.need(callerSlot)
  return {
    id: own.id ?? ex.id,
    keyId: key.id,
    user: key.user,
    group: group.name,
    operation: ex.route.operation,
    model: model.name,
    family: family.name,
    upstream: upstream.name,
    configRevision: ex.plan.revision,
    currency: ex.plan.currency,
    size: own.size ?? null,
    quality: own.quality ?? null,
    n: own.n ?? 1,
    rule: own.rule,
  }
}
