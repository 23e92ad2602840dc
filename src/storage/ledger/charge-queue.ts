import { amountOfItems } from '../../domain/charge.ts'
import type { Charge, ChargeRule, HoldRequest } from '../../domain/index.ts'
import type { Value } from '../query.ts'
import { factValues } from './fact-values.ts'
import { chargeItemValues } from './charge-item.ts'
import type { Posting } from './posting.ts'
import { ChargeBatchDraft, type ChargeBatch } from '../charge-batches/draft.ts'
import { fits } from '../charge-batches/fits.ts'
import { ageMaxMs, aheadMs } from '../charge-batches/time-bounds.ts'
import { RecentIds } from '../charge-batches/recent-ids.ts'

/** The number of charges that may wait before new charges are refused; those of current requests are still accepted. */
const waitingMax = 50_000
/** The maximum size of a group, which costs its commit a few milliseconds. */
const together = 256
/**
 * The maximum size of a group for a database server: more charges arrive during its round trip than a small group
 * takes.
 */
export const togetherFar = 2_048

/**
 * A waiting charge. `hasRows`: it needs separate rows, because no charge batch can hold it, or because it may have been
 * written before.
 */
type Waiting = Posting & { readonly hasRows: boolean }

/**
 * A charge as plain values: its facts in order, the index of its rule, the amount, the number of items, delivery, time
 * and vendor cost.
 */
export type PostedCharge = readonly [id: string, ...Value[]]
/** An item as plain values: its charge, and the columns of `line` in order. */
export type PostedLine = readonly [chargeId: string, ...Value[]]
/** Charges with separate rows in the form sent to the thread: plain values, and every rule once. */
export type PostedRows = {
  readonly rules: readonly string[]
  readonly charges: readonly PostedCharge[]
  readonly lines: readonly PostedLine[]
}
/** A group of charges in the form sent to the thread: texts, which cost a fraction of objects. */
export type Posted = {
  /** Nearly all charges of the group. */
  readonly batch: ChargeBatch | null
  /**
   * The JSON of `PostedRows`: charges with a hold, with items that are no counts, or that may have been posted before.
   */
  readonly rows: string | null
}

type Group = { readonly postings: readonly Waiting[]; readonly posted: Posted; readonly wasGivenBack?: boolean }

/**
 * Charges that no caller waits for, in order of arrival. They are money, so none is dropped while the process runs, a
 * charge whose commit is in doubt is written again, and the ledger is not healthy if too many wait. Uses lists instead
 * of maps, so that short-lived objects are freed young.
 */
export class ChargeQueue {
  #waiting: Waiting[] = []
  #taken: Group | undefined
  /** A group whose commit is in doubt: it is sent again unchanged, because it is recognised only then. */
  #owed: Group | undefined
  /** The number of remaining charges of a refused group: they are sent one by one until the faulty one is found. */
  #apart = 0
  /** Ids that may have a charge already: opened by a hold, or posted. */
  readonly #known = new RecentIds(ageMaxMs + aheadMs)
  /** The number of charges that wait or are in flight, by key, user and group. */
  readonly #counts = new Map<string, number>()
  readonly #together: number
  #onRefused: (posting: Posting) => void = () => undefined
  /** The number of postings received, and of postings done: written, or refused for their content. */
  appended = 0
  through = 0

  /** `groupMax`: the maximum number of charges in a group. */
  constructor(groupMax = together) {
    this.#together = groupMax
  }

  get size(): number {
    return this.#waiting.length + (this.#owed?.postings.length ?? 0)
  }

  get full(): boolean {
    return this.size >= together
  }

  get overfull(): boolean {
    return this.size + (this.#taken?.postings.length ?? 0) >= waitingMax
  }

  /** Sets the callback for a charge that can never be written. */
  onRefused(call: (posting: Posting) => void): void {
    this.#onRefused = call
  }

  /** Records that a hold opens a charge with this id, or tries to. */
  opened(id: string, at: number): void {
    this.#known.note(id, at)
  }

  /** Appends a charge. A second posting with the same id is a repetition. */
  append(posting: Posting): void {
    const mayBeThere = this.#known.note(posting.facts.id, posting.at)
    this.#waiting.push({ ...posting, hasRows: mayBeThere || !fits(posting) })
    this.#count(posting, 1)
    this.appended++
  }

  /**
   * Whether charges of the same budgets wait or are in flight, which may release holds. A user with the name of a
   * group also matches the group's charges; a refused hold is then tried again needlessly.
   */
  hasOf({ facts: { keyId, user, group }, levels = [] }: Pick<HoldRequest, 'facts' | 'levels'>): boolean {
    const counts = this.#counts
    return counts.has(keyId) || counts.has(user) || (counts.has(group) && levels.some(({ kind }) => kind === 'group'))
  }

  /** The next group; undefined if none waits. */
  take(): Posted | undefined {
    this.#taken = this.#owed ?? this.#next()
    this.#owed = undefined
    return this.#taken?.posted
  }

  /** Reports that the last group is durable. */
  done(): void {
    this.#end(this.#release())
  }

  /** Reports that the last group may not be durable, so that it is written again. */
  giveBack(): void {
    this.#owed = this.#taken && { ...this.#taken, wasGivenBack: true }
    this.#taken = undefined
  }

  /**
   * Reports that the last group was refused for its content. @returns the charge that cannot be written, if it is
   * known
   */
  refused(): Posting | undefined {
    const isInDoubt = this.#taken?.wasGivenBack === true
    const taken = this.#release()
    const [only] = taken
    if (only && taken.length === 1) {
      this.#end(taken)
      this.#onRefused(only)
      return only
    }
    // A charge whose commit was in doubt may exist after all. A charge batch is recognised only as a whole group, but
    // rows are recognised one by one.
    const apart = isInDoubt ? taken.map(one => ({ ...one, hasRows: true })) : taken
    this.#waiting = [...apart, ...this.#waiting]
    this.#apart = taken.length
    return undefined
  }

  /** The charges that are not known to be durable. */
  left(): readonly Posting[] {
    return [...(this.#taken?.postings ?? []), ...(this.#owed?.postings ?? []), ...this.#waiting]
  }

  /** The final state of a charge that still waits. */
  find(id: string): Charge | undefined {
    const isIt = ({ facts }: Posting): boolean => facts.id === id
    const posting = this.#taken?.postings.find(isIt) ?? this.#owed?.postings.find(isIt) ?? this.#waiting.find(isIt)
    if (!posting) return undefined
    const { facts, lines, delivery, at, vendorCost = null } = posting
    return {
      ...facts,
      state: 'settled',
      reason: null,
      hold: 0,
      held: 0,
      amount: amountOfItems(lines),
      refunded: 0,
      createdAt: at,
      endedAt: at,
      vendorCost,
      delivery,
      lines,
    }
  }

  #count({ facts: { keyId, user, group } }: Posting, by: 1 | -1): void {
    for (const account of [keyId, user, group]) {
      const count = (this.#counts.get(account) ?? 0) + by
      if (count === 0) this.#counts.delete(account)
      else this.#counts.set(account, count)
    }
  }

  /** Forgets charges that are written, or never will be. */
  #end(postings: readonly Posting[]): void {
    for (const one of postings) this.#count(one, -1)
    this.through += postings.length
    if (this.#apart > 0) this.#apart -= postings.length
  }

  #next(): Group | undefined {
    const { length } = this.#waiting
    if (length === 0) return undefined
    const draft = new ChargeBatchDraft()
    const rows: Posting[] = []
    const most = Math.min(length, this.#apart > 0 ? 1 : this.#together)
    let count = 0
    for (; count < most; count++) {
      const posting = this.#waiting[count] as Waiting
      if (posting.hasRows) rows.push(posting)
      else if (!draft.add(posting)) break
    }
    const postings = count === length ? this.#waiting : this.#waiting.splice(0, count)
    if (count === length) this.#waiting = []
    const batch = draft.count > 0 ? draft.finish() : null
    return { postings, posted: { batch, rows: rows.length > 0 ? JSON.stringify(flatten(rows)) : null } }
  }

  #release(): readonly Waiting[] {
    const taken = this.#taken?.postings ?? []
    this.#taken = undefined
    return taken
  }
}

/** Uses the first of two postings with the same id. */
function flatten(postings: readonly Posting[]): PostedRows {
  const places = new Map<ChargeRule, number>()
  const ids = new Set<string>()
  const charges: PostedCharge[] = []
  const lines: PostedLine[] = []
  for (const { facts, lines: own, delivery, at, vendorCost = null } of postings) {
    if (ids.has(facts.id)) continue
    ids.add(facts.id)
    let place = places.get(facts.rule)
    if (place === undefined) places.set(facts.rule, (place = places.size))
    charges.push([...factValues(facts), place, amountOfItems(own), own.length, delivery, at, vendorCost])
    for (const line of own) lines.push(chargeItemValues(facts.id, line))
  }
  return { rules: [...places.keys()].map(rule => JSON.stringify(rule)), charges, lines }
}
