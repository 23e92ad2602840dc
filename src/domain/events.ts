import type { Awaitable } from '../util/awaitable.ts'
import type { Json } from './json.ts'

/** The kinds of events, from which receivers choose. */
export const eventKinds = [
  'charge.settled',
  'charge.refunded',
  'budget.threshold',
  'budget.exhausted',
  'key.created',
  'key.changed',
  'key.revoked',
  'upstream.key_suspended',
  'upstream.key_resumed',
  'upstream.key_exhausted',
  'upstream.exhausted',
  'config.applied',
  'config.refused',
  'user.created',
  'user.changed',
  'user.erased',
  'ledger.differs',
  'ledger.verified',
] as const

/** Kinds that may require a person's action, and kinds that end such a condition. */
export const alertKinds = [
  'budget.threshold',
  'budget.exhausted',
  'upstream.key_suspended',
  'upstream.key_resumed',
  'upstream.exhausted',
  'config.refused',
  'config.applied',
  'ledger.differs',
  'ledger.verified',
] as const satisfies readonly EventKind[]

/** The valid filters of a receiver: a kind, all kinds of a group, or everything. */
export const kindWords: readonly string[] = [
  '*',
  ...new Set(eventKinds.map(kind => `${kind.slice(0, kind.indexOf('.'))}.*`)),
  ...eventKinds,
]

/** The kinds that these filters select. */
export function kindsOf(words: readonly string[]): readonly EventKind[] {
  return eventKinds.filter(kind =>
    words.some(word => word === '*' || word === kind || (word.endsWith('.*') && kind.startsWith(word.slice(0, -1)))),
  )
}

export type EventKind = (typeof eventKinds)[number]

/** The data of an event as JSON, with names as in the API (`key_id`, `user`), amounts as decimals, and no secrets. */
export type EventData = { readonly [name: string]: Json }

/** A new event. Charges are read from the ledger, so they are not stored as events. */
export type NewEvent = {
  readonly kind: Exclude<EventKind, 'charge.settled' | 'charge.refunded'>
  /** Its `user` may see it, in addition to users who see all events. */
  readonly data: EventData
}

/** A stored event, by its number in the table. */
export type StoredEvent = NewEvent & {
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** A stored event or a charge event, as receivers and readers get it. */
export type FeedEvent = {
  /** Its position in the order of all events: ids sort in the order of storage. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: EventKind
  readonly data: EventData
}

/** Sorts before all ids. */
export const firstEvent = 'evt_'
export const eventIdText = /^evt_[0-9a-v]{22}$/

export type FeedQuery = {
  /** The id of an event: only later events are returned. */
  readonly after: string | null
  readonly limit: number
  readonly kinds?: readonly EventKind[]
  /** Only events of this user. */
  readonly user?: string
  /** Milliseconds since the epoch. */
  readonly since?: number
}

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  /** The position for the next call: after the last event that was read, whether it matched or not. */
  readonly next: string
  /** Whether there are no further events. */
  readonly isOver: boolean
}

/** A delivery to a receiver that failed. */
export type Retry = {
  readonly event: string
  /** The number of attempts. */
  readonly tries: number
  /** The time of the next attempt; null: there will be none. */
  readonly nextAt: number | null
  /** The reason, as part of a sentence without quotes from the response. */
  readonly why: string
}

/** The deliveries to repeat. */
export type Due = {
  /** The receiver's position: a person may have reset it. */
  readonly through: string | null
  readonly due: readonly Retry[]
  /** The number of waiting deliveries, due or not. */
  readonly waiting: number
}

/** Delivery results of some events. */
export type Deliveries = {
  readonly webhook: string
  /** The previous position, and the current one. */
  readonly from: string
  readonly through: string
  /** Events that were delivered after retries. */
  readonly arrived: readonly string[]
  readonly retries: readonly Retry[]
  /** Whether the receiver works again, so that all waiting deliveries are due now. */
  readonly isBack: boolean
}

/** The position of a receiver. */
export type WebhookState = {
  readonly webhook: string
  readonly through: string
  readonly waiting: number
  readonly givenUp: number
}

/** Stores positions of receivers. Only the gateway with the lease of a receiver sends to it. */
export type WebhookStore = {
  /** The receiver's position, if this process sends to it. A new receiver gets events from now on. */
  claim(webhook: string): Promise<{ readonly through: string } | null>
  /** Deliveries that are due, oldest first, and the total number of waiting ones. */
  due(webhook: string, limit: number): Promise<Due>
  /** False: another process sends to it, or a person has changed its position. */
  keep(deliveries: Deliveries): Promise<boolean>
  /** Schedules one event, or all events after one, for redelivery. False if there is no such receiver. */
  again(webhook: string, which: { readonly id: string } | { readonly after: string }): Promise<boolean>
  list(): Promise<readonly WebhookState[]>
}

export type EventStore = {
  /**
   * Stores an event outside of any other change. An event that belongs to a change is stored in that change's
   * transaction.
   */
  add(event: NewEvent): Awaitable<void>
  /**
   * Like `add`, unless the last event of its group (the part before the dot) is equal. With `ends`, only if that last
   * event is of this kind.
   */
  addUnlessRepeated(event: NewEvent, ends?: EventKind): Awaitable<void>
  /** The events after `id`, oldest first. */
  after(id: number, limit: number): Awaitable<readonly StoredEvent[]>
  /**
   * All events, including charges, in one order. A reader that follows `next` gets each event at least once, even
   * while events are added.
   * @throws Error for an `after` that is no event's id
   */
  page(query: FeedQuery): Promise<FeedPage>
  find(id: string): Promise<FeedEvent | undefined>
  /**
   * Deletes events before `until` in batches, except those that one of `webhooks` has not received; returns the number.
   */
  prune(until: number, limit: number, webhooks: readonly string[]): Promise<number>
  readonly webhooks: WebhookStore
}
