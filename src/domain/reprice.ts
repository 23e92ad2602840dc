import type { Charge, ChargeRule, ChargeItem } from './charge.ts'
import type { Family, Model } from './model.ts'
import type { OperationTraits } from './operation.ts'
import type { Slots } from './slots.ts'

/** Why the cost of a charge by other prices is not known. */
export const incomparable = [
  /** The configuration has no such model, or none on offer. */
  'model_gone',
  /** It has no such group, whose multiplier would apply. */
  'group_gone',
  /** It counts in another currency. */
  'other_currency',
  /** It charges the model by something else, as images instead of tokens. */
  'charged_otherwise',
  /** Its prices depend on something of the request that was not kept. */
  'measure_not_kept',
  /** It would have refused the request: its size, or a combination that has no price. */
  'refused',
  /** A person has decided what it costs. */
  'decided',
  /** Some of it was given back, and not all. */
  'refunded_in_part',
  /** Its own facts do not give the charged amount. */
  'not_reproducible',
  /** It has not ended: it is under way, or waits for a person. */
  'open',
] as const
export type Incomparable = (typeof incomparable)[number]

/** A configuration that a charge is held against, as far as one plugin needs it. */
export type RepriceAsk = {
  readonly model: Model
  readonly family: Family
  readonly operation: string
  /** What is known of the operation; undefined where no route has it. */
  readonly traits: OperationTraits | undefined
  /** Of the group that was charged, as a decimal string. */
  readonly multiplier: string
  /** What the plugins above have given, of a request for the same size. */
  readonly slots: Slots
}

/** A charge at other prices: its rule and its lines, none if it is free; or why the configuration has no price. */
export type Repriced =
  | { readonly rule: ChargeRule; readonly lines: readonly ChargeItem[] }
  | { readonly reason: Incomparable }

/** A settled charge, and what it becomes at other prices. */
export type Repricing = {
  readonly charge: Charge
  readonly rule: ChargeRule
  readonly lines: readonly ChargeItem[]
  /** The configuration whose prices these are. */
  readonly configRevision: string
  readonly by: string
  readonly reason: string
}

/** The id of the charge that replaces a repriced one. */
export function repricedId(id: string): string {
  return `${id}.r`
}
