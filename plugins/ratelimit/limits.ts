import type { Caller, Model } from '../../src/kit/index.ts'
import type { Window } from './counters.ts'

/** A limit as it applies to one request. */
export type Limit = Window & { readonly name: 'user_rpm' | 'model_rpm' }

/**
 * The limits that follow from who is asking (requirement 8, user level): the group's value, counted per key or per
 * user, and the key's own, which is counted per key and wins where it is tighter.
 */
export function userLimits({ key, group }: Caller): readonly Limit[] {
  const ofGroup = group.limits.rpm
  const ofKey = key.limits.rpm
  if (group.limitScope === 'key') {
    const limit = Math.min(ofGroup ?? Infinity, ofKey ?? Infinity)
    return limit === Infinity ? [] : [{ name: 'user_rpm', id: `key ${key.id}`, limit }]
  }
  const limits: Limit[] = []
  if (ofGroup !== undefined) limits.push({ name: 'user_rpm', id: `user ${key.user}`, limit: ofGroup })
  if (ofKey !== undefined) limits.push({ name: 'user_rpm', id: `key ${key.id}`, limit: ofKey })
  return limits
}

/** The limits of the model: everybody's requests together, or each key's (decision 23). */
export function modelLimits(model: Model, { key }: Caller): readonly Limit[] {
  const { rpm, scope } = model.limits
  if (rpm === undefined) return []
  const whose = scope === 'key' ? ` key ${key.id}` : ''
  return [{ name: 'model_rpm', id: `model ${model.name}${whose}`, limit: rpm }]
}
