import {
  type Counters,
  Failure,
  type KeyOutcome,
  type LimitReservation,
  serves,
  type Ticket,
  type Upstream,
  type VendorKey,
} from '../../domain/index.ts'
import type { Outcome, TokenUse } from '../../plugin-api/index.ts'
import { type Awaitable, andThen, drawFor, isPromise } from '../../util/index.ts'
import { fail } from '../errors.ts'
import type { Classification } from '../classify-response/classify.ts'
import { demandsOf } from './demands-of.ts'
import type { KeyBudgets } from './key-budgets.ts'
import type { KeyStates } from './key-states.ts'
import type { KeyUser } from './suspicions.ts'

/** How often one request tries an upstream that is unable, with any of its keys. */
const unableMax = 2
const soonMs = 1_000
/** Refusals of a request for its own content. A 403 may be about the key. */
const aboutContent = /^4(?:00|13|22)\b/

/** Shared by all attempts. */
export type AttemptHost = {
  readonly states: KeyStates
  readonly budgets: KeyBudgets
  readonly counters: Pick<Counters, 'take' | 'settle'> | undefined
  /** At least 0, less than 1. */
  unit(): number
  /** A request is sent with a key. */
  sent(key: VendorKey, request: string): void
  /** Its outcome. */
  ended(key: VendorKey, outcome: KeyOutcome): void
  /** A refusal that was not sold. */
  wasted(key: VendorKey, classification: Classification, keyUser: KeyUser): void
}

/** A request, as far as its attempts with keys need to know it. */
export type AttemptFacts = {
  readonly model: string
  readonly request: string
  readonly keyUser: KeyUser
  /** Absent if it uses none. */
  readonly tokens: TokenUse | undefined
  /** Whether another upstream is left; known when it matters. */
  readonly turn: { readonly isLast: boolean }
  /** What the requests of its conversation have in common: they use one key, while it may be used. */
  readonly affinity: string | undefined
  /** The only key that knows the stored objects of the request. */
  readonly pinned: string | undefined
}

/**
 * Whether an answer goes to the client, or what to try next. `same_key`: with a new token; `retry`: as `retry_on` of
 * the model says.
 */
export type Verdict = 'take' | 'same_key' | 'next_key' | 'next_upstream' | 'retry'

/**
 * One request's attempts with the keys of an upstream: each is used at most once, and its reserved limits are released.
 */
export class KeyAttempt {
  readonly upstream: Upstream
  /** The current upstream and key. */
  key: VendorKey | undefined
  readonly #keys: AttemptHost
  readonly #facts: AttemptFacts
  /** The chosen keys. The only key is known without a list. */
  #tried: Set<VendorKey> | undefined
  #isOnlyTried = false
  /** Keys that reported that they do not serve the model; it counts if another one does. */
  #modelRefused: readonly { readonly key: VendorKey; readonly code: string }[] | undefined
  #ticket: Ticket | undefined
  /** A request was sent since the ticket was taken. */
  #isSent = false
  #isTrial = false
  /** It is tried because no other key is left. */
  #isResort = false
  /** A usable key was used. */
  #hasUsedOpen = false
  /** One of its tokens had expired; if a new one is refused too, that is classified. */
  #renewed: Set<VendorKey> | undefined
  #unable = 0
  /** When the first of the limited keys may be used again. */
  #waitMs: number | undefined
  /** A request was sent, and may have been sold: `on_unknown: pay_twice`. */
  isInDoubt = false
  /** The last answer that was not accepted. */
  last: Classification | undefined
  /** The failure of the last call without an answer. */
  fault: Failure | undefined

  constructor(keys: AttemptHost, upstream: Upstream, facts: AttemptFacts) {
    this.#keys = keys
    this.upstream = upstream
    this.#facts = facts
  }

  /** The upstream for the next attempt, with one of its keys; undefined if none is left. */
  next(): Awaitable<Upstream | undefined> {
    const key = this.upstream.keys?.[0]
    return key?.isOnly === true ? this.#chooseOnly(key) : this.#nextOfSeveral()
  }

  async #nextOfSeveral(): Promise<Upstream | undefined> {
    await this.#settle(() => 0)
    if (this.#unable >= unableMax) return undefined
    for (let key = this.#choose(); key; key = this.#choose()) {
      this.#tried = (this.#tried ?? new Set()).add(key)
      if (!(await this.#take(key))) continue
      // Another request may be trying it by now, or a person may have suspended it.
      if (this.#isTrial && !this.#tries(key)) {
        await this.#settle(() => 0)
        continue
      }
      this.key = key
      return key.upstream
    }
    return undefined
  }

  #tries(key: VendorKey): boolean {
    const { states } = this.#keys
    if (!this.#isResort) return states.tries(key)
    if (states.isUnproved(key, this.#facts.keyUser)) return true
    if (!states.isResort(key)) return false
    states.resorts(key)
    return true
  }

  /** It is sent now. */
  sent(): void {
    this.#isSent = true
    if (this.key) this.#keys.sent(this.key, this.#facts.request)
  }

  /** By weight among the usable keys; one that is due for a trial comes first, or it would never be tried. */
  #choose(): VendorKey | undefined {
    const { states, budgets } = this.#keys
    const { model, pinned } = this.#facts
    const open: VendorKey[] = []
    this.#isTrial = false
    this.#isResort = false
    const shut: VendorKey[] = []
    for (const key of this.upstream.keys ?? []) {
      // A key that gets no new requests still serves the objects that it has made.
      if (pinned === undefined ? key.weight === 0 : key.name !== pinned) continue
      if (this.#tried?.has(key) || !serves(key.models, model)) continue
      const admission = states.admission(key, model)
      if (admission.kind === 'shut') {
        if (admission.waitMs !== null && admission.reason === 'limited') this.#waitsFor(admission.waitMs)
        shut.push(key)
        continue
      }
      if (!budgets.hasRoom(key)) continue
      if (admission.kind === 'trial') {
        this.#isTrial = true
        return key
      }
      open.push(key)
    }
    if (open.length === 0) return this.#chooseShut(shut)
    this.#hasUsedOpen = true
    if (open.length === 1) return open[0]
    const { affinity } = this.#facts
    if (affinity !== undefined) return highestOf(open, key => drawFor(affinity, key.id) ** (1 / key.weight))
    let at = this.#keys.unit() * open.reduce((sum, key) => sum + key.weight, 0)
    return open.find(key => (at -= key.weight) < 0) ?? open.at(-1)
  }

  /**
   * If no key is open: one that was closed for refusals of another client alone; else, if no key is left, one that is
   * due, as a trial.
   */
  #chooseShut(shut: readonly VendorKey[]): VendorKey | undefined {
    const { states, budgets } = this.#keys
    const isNeeded = !this.#hasUsedOpen && this.#facts.turn.isLast
    const isTried = (key: VendorKey): boolean =>
      states.isUnproved(key, this.#facts.keyUser) || (isNeeded && states.isResort(key))
    const key = shut.find(one => budgets.hasRoom(one) && isTried(one))
    this.#isTrial = key !== undefined
    this.#isResort = key !== undefined
    return key
  }

  /** A refusal costs nothing: the only key is used rather than none, unless a person has suspended it. */
  #chooseOnly(key: VendorKey): Upstream | undefined {
    if (this.#isOnlyTried) return undefined
    this.#isOnlyTried = true
    const { states } = this.#keys
    const admission = states.admission(key, this.#facts.model)
    this.#isTrial =
      admission.kind === 'trial'
        ? states.tries(key)
        : admission.kind === 'shut' && states.isUnproved(key, this.#facts.keyUser)
    const isBarred = admission.kind === 'shut' && admission.reason === 'operator'
    const isUsable = admission.kind === 'open' || this.#isTrial || (!isBarred && this.#facts.turn.isLast)
    if (!isUsable) return undefined
    this.key = key
    return key.upstream
  }

  #waitsFor(ms: number): void {
    this.#waitMs = Math.min(this.#waitMs ?? Number.POSITIVE_INFINITY, ms)
  }

  /** Reserves what the request needs of the key's limits; false if one of them is full. */
  #take(key: VendorKey): Awaitable<boolean> {
    const { counters } = this.#keys
    const demands = demandsOf(key, this.#facts.tokens)
    if (!counters || demands.length === 0) return true
    return andThen(counters.take(demands, 'local'), taken => this.#keep(taken))
  }

  #keep({ ticket, standings }: LimitReservation): boolean {
    this.#ticket = ticket
    this.#isSent = false
    if (!ticket) this.#waitsFor(Math.max(soonMs, ...standings.map(({ waitMs }) => waitMs)))
    return ticket !== undefined
  }

  /** The result of a call without an answer. @returns the next attempt */
  lost(error: unknown, isUntouched: boolean): Verdict {
    if (!(error instanceof Failure)) return 'take'
    this.fault = error
    if (this.key) this.#keys.ended(this.key, isUntouched ? 'unreached' : 'unknown')
    if (isUntouched) return error.code === 'upstream_unsigned' ? 'next_key' : 'next_upstream'
    return this.#doubt()
  }

  /** Its signature was no longer accepted: the key itself may be. @returns the next attempt */
  outdated(classification: Classification): Verdict {
    const { key } = this
    if (!key || classification.class !== 'not_sold' || this.#renewed?.has(key)) return this.refused(classification)
    this.#renewed = (this.#renewed ?? new Set()).add(key)
    this.last = classification
    return 'same_key'
  }

  /** The meaning of a refusal. @returns the next attempt */
  refused(classification: Classification): Verdict {
    const { key } = this
    if (!key) return 'take'
    this.#keys.ended(key, outcomeOf(classification))
    if (classification.class === 'final') {
      if (this.#isTrial && aboutContent.test(classification.code)) this.#keys.states.triesAgain(key, this.#isResort)
      return 'take'
    }
    this.last = classification
    this.fault = undefined
    if (classification.class === 'unknown') return this.#doubt()
    this.#keys.wasted(key, classification, this.#facts.keyUser)
    if (classification.key === 'model')
      this.#modelRefused = [...(this.#modelRefused ?? []), { key, code: classification.code }]
    if (classification.key === 'none') this.#unable++
    // The state of a cooling key has the time.
    if (classification.key === 'cooling' && this.#keys.states.admission(key, this.#facts.model).kind !== 'shut')
      this.#waitsFor(classification.retryAfterMs ?? soonMs)
    return 'next_key'
  }

  #doubt(): Verdict {
    if (this.upstream.paysTwice !== true) return 'take'
    this.isInDoubt = true
    this.#unable++
    return 'next_key'
  }

  succeeded(): void {
    const { model } = this.#facts
    if (!this.key) return
    this.#keys.ended(this.key, 'answered')
    this.#keys.states.succeeded(this.key, model, this.#isTrial, this.#facts.tokens?.estimate)
    // One of them: the next request tries the next.
    const [refused] = this.#modelRefused ?? []
    if (refused) this.#keys.states.modelRefused(refused.key, model, refused.code)
  }

  /** Whether the last answer may be passed on when no key is left: it blames no key. */
  get isLastShown(): boolean {
    if (!this.last) return false
    const { key, code } = this.last
    if (key === 'request') return true
    // A limit of the only key is reported in the upstream's words, which may have more details.
    if (key === 'cooling') return this.key?.isOnly === true && !/^40[123]\b/.test(code)
    // A 403 without a word about keys may be about the request: its words are for the client.
    return (key === 'none' && !/^40[12]\b/.test(code)) || (key === 'model' && code.startsWith('404'))
  }

  /** Why no key is left. It is never the client's key that is at fault. */
  get failure(): Failure {
    if (this.fault) return this.fault
    for (const key of this.#chosen) {
      const admission = this.#keys.states.admission(key, this.#facts.model)
      const isLimited = admission.kind === 'shut' && admission.reason === 'limited'
      if (isLimited && admission.waitMs !== null) this.#waitsFor(admission.waitMs)
    }
    if (this.#waitMs === undefined) return fail('upstream_credentials', { upstream: this.upstream.name })
    const waitMs = Math.max(soonMs, this.#waitMs)
    const seconds = Math.ceil(waitMs / 1_000)
    return fail('upstream_limited', { upstream: this.upstream.name, seconds }, { retryAfterMs: waitMs })
  }

  get #chosen(): Iterable<VendorKey> {
    return (this.#isOnlyTried ? this.upstream.keys : this.#tried) ?? []
  }

  /** A sent request counts, whatever the answer; its tokens count as `usedOf` says. An unsent one takes nothing. */
  #settle(usedOf: (reserved: number) => number): Awaitable<void> {
    const ticket = this.#ticket
    this.#ticket = undefined
    if (!ticket) return
    const amounts = ticket.demands.map(({ id, amount }) => {
      if (!this.#isSent) return 0
      return id.startsWith('rpm ') ? amount : id.startsWith('tpm ') ? usedOf(amount) : 0
    })
    return this.#keys.counters?.settle(ticket, amounts)
  }

  /** Another upstream is tried. `isInDoubt`: this one may have used the tokens. */
  leave(isInDoubt: boolean): void {
    ignoreFailure(this.#settle(reserved => (isInDoubt ? reserved : 0)))
  }

  /** The request is over. */
  end(outcome: Outcome, tokens: TokenUse | undefined): void {
    ignoreFailure(this.#settle(reserved => tokens?.actual(outcome) ?? reserved))
  }
}

function ignoreFailure(settling: Awaitable<void>): void {
  if (settling && isPromise(settling)) settling.catch(() => undefined)
}

/** The key with the highest number; each is drawn once. */
function highestOf(keys: readonly VendorKey[], draw: (key: VendorKey) => number): VendorKey | undefined {
  let best: VendorKey | undefined
  let highest = -Infinity
  for (const key of keys) {
    const drawn = draw(key)
    if (drawn > highest) [best, highest] = [key, drawn]
  }
  return best
}

function outcomeOf({ class: saleClass, key }: Classification): KeyOutcome {
  if (saleClass === 'unknown') return 'unknown'
  if (saleClass === 'final' || key === 'request') return 'refused'
  if (key === 'none') return 'unable'
  return key === 'cooling' ? 'limited' : key
}
