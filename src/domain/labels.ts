import type { Awaitable } from '../util/awaitable.ts'
import { defineSlot } from './slots.ts'

/** Attributes of a request besides its key: one end user, and several tags. */
export const labelKinds = ['end_user', 'tag'] as const
export type LabelKind = (typeof labelKinds)[number]

/** Prefixes of ids, so that a list of ids need not name the kinds. */
export const labelPrefixes: { readonly [K in LabelKind]: string } = { end_user: 'eu_', tag: 'tag_' }

/** The ids and the name for all values beyond the limit of distinct ones. */
export const otherLabels: { readonly [K in LabelKind]: string } = { end_user: 'eu_other', tag: 'tag_other' }
export const otherName = '(other)'

/** The ids of one kind in an attribution: ids separated by spaces, as charges and log rows store it. */
export function labelsIn(attribution: string | null | undefined, kind: LabelKind): readonly string[] {
  if (!attribution) return []
  const prefix = labelPrefixes[kind]
  return attribution.split(' ').filter(id => id.startsWith(prefix))
}

/** The attribution of a request, as names and as ids. */
export type Attribution = {
  readonly endUser: string | null
  readonly endUserId: string | null
  readonly tags: readonly string[]
  /** All ids; '' for none. */
  readonly ids: string
}

export const attributionSlot = defineSlot<Attribution>('attribution')

export type NewLabel = {
  readonly kind: LabelKind
  readonly name: string
  /** The key of the request. */
  readonly keyId: string
  /** The maximum number of distinct ones, in total and for one key. */
  readonly most: number
  readonly mostPerKey: number
}

/**
 * Stores names of end users and tags. Charges, sums and log rows contain only ids: when a name is erased, nothing else
 * has to change, and no hash of the ledger covers the name.
 */
export type LabelStore = {
  /** The id of a name, which is added if there is room; otherwise the id for all others. */
  idOf(label: NewLabel): Awaitable<string>
  /** @returns false if there is no such name */
  erase(kind: LabelKind, name: string, by: string): Promise<boolean>
  /** Erases names without requests since `until`, at most `limit` of them. @returns the number */
  prune(kind: LabelKind, until: number, limit: number): Promise<number>
}
