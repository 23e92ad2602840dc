import type { Awaitable } from '../util/awaitable.ts'
import type { Json } from './json.ts'

/** The kinds of events: a receiver chooses among these. */
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

/** Kinds that may need a person, or that report the end of such an event. */
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

/** What a receiver may name: a kind, all of a sort, or everything. */
export const kindWords: readonly string[] = [
  '*',
  ...new Set(eventKinds.map(kind => `${kind.slice(0, kind.indexOf('.'))}.*`)),
  ...eventKinds,
]

/** The kinds that such words name. */
export function kindsOf(words: readonly string[]): readonly EventKind[] {
  return eventKinds.filter(kind =>
    words.some(word => word === '*' || word === kind || (word.endsWith('.*') && kind.startsWith(word.slice(0, -1)))),
  )
}

export type EventKind = (typeof eventKinds)[number]

/** The data of an event, as JSON: names as in the interface (`key_id`, `user`), amounts as decimals, never a secret. */
export type EventData = { readonly [name: string]: Json }

/** An event, for its receivers. Charges are in the ledger already and are read from there. */
export type NewEvent = {
  readonly kind: Exclude<EventKind, 'charge.settled' | 'charge.refunded'>
  /** Its `user` is the one who may see it besides those who see all. */
  readonly data: EventData
}

/** A stored event, by its number in the table. */
export type StoredEvent = NewEvent & {
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** An event of either kind, as receivers and readers get it. */
export type FeedEvent = {
  /** Its place in the order of all: ids sort as events were stored. */
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
  /** The id of an event: those after it. */
  readonly after: string | null
  readonly limit: number
  readonly kinds?: readonly EventKind[]
  /** Events of one user alone. */
  readonly user?: string
  /** Milliseconds since the epoch. */
  readonly since?: number
}

export type FeedPage = {
  readonly events: readonly FeedEvent[]
  /** Where to read on: after the last event that was read, whether it matched or not. */
  readonly next: string
  /** There are no more events. */
  readonly isOver: boolean
}

/** What could not be delivered to a receiver. */
export type Retry = {
  readonly event: string
  /** How often it has been tried. */
  readonly tries: number
  /** When it is tried again; null: it was given up. */
  readonly nextAt: number | null
  /** A part of a sentence, which quotes nothing of the answer. */
  readonly why: string
}

/** What is to be sent again. */
export type Due = {
  /** The receiver's position: a person may have set it back. */
  readonly through: string | null
  readonly due: readonly Retry[]
  /** How much waits, due or not. */
  readonly waiting: number
}

/** What became of some events on their way to a receiver. */
export type Deliveries = {
  readonly webhook: string
  /** The position before, and now. */
  readonly from: string
  readonly through: string
  /** Arrived, at last. */
  readonly arrived: readonly string[]
  readonly retries: readonly Retry[]
  /** Everything that waits is tried now: the receiver is back. */
  readonly isBack: boolean
}

/** The position of a receiver. */
export type WebhookState = {
  readonly webhook: string
  readonly through: string
  readonly waiting: number
  readonly givenUp: number
}

/** Positions of receivers. Of several gateways one sends to a receiver, as long as it has its lease. */
export type WebhookStore = {
  /** The receiver's position, if this process sends to it; a new one gets what comes from now on. */
  claim(webhook: string): Promise<{ readonly through: string } | null>
  /** What is to be tried again now, oldest first, and how much waits in all. */
  due(webhook: string, limit: number): Promise<Due>
  /** False: another process sends to it, or a person has changed its position. */
  keep(deliveries: Deliveries): Promise<boolean>
  /** Sends again: one event, or all after one. False where there is no such receiver. */
  again(webhook: string, which: { readonly id: string } | { readonly after: string }): Promise<boolean>
  list(): Promise<readonly WebhookState[]>
}

export type EventStore = {
  /** Outside of any other change; one that belongs to a change is stored in its transaction. */
  add(event: NewEvent): Awaitable<void>
  /**
   * The same, unless the last of its sort (the part before the dot) says the same already. With `ends` only where that last one
   * is of this kind.
   */
  addUnlessRepeated(event: NewEvent, ends?: EventKind): Awaitable<void>
  /** Oldest first, those after `id`. */
  after(id: number, limit: number): Awaitable<readonly StoredEvent[]>
  /**
   * All events, charges included, in one order; each at least once, whenever it is read.
   * @throws Error for an `after` that is no event's id
   */
  page(query: FeedQuery): Promise<FeedPage>
  find(id: string): Promise<FeedEvent | undefined>
  /** Deletes events before `until`, some at a time, but not those that one of `webhooks` has not received; returns how many. */
  prune(until: number, limit: number, webhooks: readonly string[]): Promise<number>
  readonly webhooks: WebhookStore
}
