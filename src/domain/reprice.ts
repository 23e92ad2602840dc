import type { Charge, ChargeRule, ChargeItem } from './charge.ts'
import type { Family, Model } from './model.ts'
import type { OperationTraits } from './operation.ts'
import type { Slots } from './slots.ts'

/** The reason why the cost of a charge at other prices is unknown. */
export const incomparable = [
  /** The configuration has no such model, or does not offer it. */
  'model_gone',
  /** It lacks the group whose multiplier would apply. */
  'group_gone',
  /** It uses another currency. */
  'other_currency',
  /** It charges the model in another way, for example by images instead of tokens. */
  'charged_otherwise',
  /** Its prices depend on a property of the request that was not stored. */
  'measure_not_kept',
  /** It would have refused the request: its size, or a combination that has no price. */
  'refused',
  /** A person has decided its price. */
  'decided',
  /** Part of it was refunded, but not all. */
  'refunded_in_part',
  /** Rating its stored facts again does not yield the charged amount. */
  'not_reproducible',
  /** It has not ended: it is in progress, or under review. */
  'open',
] as const
export type Incomparable = (typeof incomparable)[number]

/** The configuration to compare a charge with, as far as one plugin needs it. */
export type RepriceAsk = {
  readonly model: Model
  readonly family: Family
  readonly operation: string
  /** The known traits of the operation; undefined if no route has it. */
  readonly traits: OperationTraits | undefined
  /** The factor of the charged group, as a decimal string. */
  readonly multiplier: string
  /** The slots of earlier plugins, for a request of the same size. */
  readonly slots: Slots
}

/** A charge at other prices: its rule and its lines (none if it is free), or the reason why there is no price. */
export type Repriced =
  | { readonly rule: ChargeRule; readonly lines: readonly ChargeItem[] }
  | { readonly reason: Incomparable }

/** A settled charge, and its replacement at other prices. */
export type Repricing = {
  readonly charge: Charge
  readonly rule: ChargeRule
  readonly lines: readonly ChargeItem[]
  /** The configuration with these prices. */
  readonly configRevision: string
  readonly by: string
  readonly reason: string
}

/** The id of the charge that replaces a repriced one. */
export function repricedId(id: string): string {
  return `${id}.r`
}
