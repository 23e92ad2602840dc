import type { Awaitable } from '../util/awaitable.ts'
import { defineSlot } from './slots.ts'

/** What a request can be attributed to besides its key: one end user, and several tags. */
export const labelKinds = ['end_user', 'tag'] as const
export type LabelKind = (typeof labelKinds)[number]

/** Ids begin with these, so that a list of ids needs no kinds. */
export const labelPrefixes: { readonly [K in LabelKind]: string } = { end_user: 'eu_', tag: 'tag_' }

/** The ids and the name of values beyond the limit of different ones. */
export const otherLabels: { readonly [K in LabelKind]: string } = { end_user: 'eu_other', tag: 'tag_other' }
export const otherName = '(other)'

/** The ids of one kind in an attribution: ids with blanks between them, as charges and log rows store it. */
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
  /** All ids; '' if there are none. */
  readonly ids: string
}

export const attributionSlot = defineSlot<Attribution>('attribution')

export type NewLabel = {
  readonly kind: LabelKind
  readonly name: string
  /** The key of the request that has it. */
  readonly keyId: string
  /** How many different ones are kept, in all and of one key. */
  readonly most: number
  readonly mostPerKey: number
}

/**
 * Names of end users and tags. Charges, sums and log rows have only ids: when a name is erased, nothing else has to
 * change, and no hash of the ledger covers it.
 */
export type LabelStore = {
  /** The id of a name, which is added if there is room; that of the others if there is none. */
  idOf(label: NewLabel): Awaitable<string>
  /** @returns false if there is no such name */
  erase(kind: LabelKind, name: string, by: string): Promise<boolean>
  /** Erases names that no request has had since `until`, at most `limit` of them. @returns how many */
  prune(kind: LabelKind, until: number, limit: number): Promise<number>
}
