import {
  type Answer,
  attributionSlot,
  type CachePolicy,
  type CacheResult,
  callerSlot,
  chargeFacts,
  type EndedCharge,
  type Host,
  isBounded,
  type Micros,
  type Outcome,
  overdrawnValues,
  priceOfHit,
  type Reply,
  type RequestContext,
  type Stores,
  type Target,
  tellOverdrawn,
  useChargeId,
} from '../../src/plugin-api/index.ts'
import { CollectAnswer, type Collecting } from './collect-answer.ts'
import { fail } from './errors.ts'
import { itemOfHit, ruleOfHit } from './hit-charge.ts'
import { isComplete, repeats } from './is-complete.ts'
import type { CachedAnswer } from './cached-answer.ts'
import type { AnswerStore } from './answer-stores.ts'
import type { Purges } from './purges.ts'
import type { RequestKey } from './request-key.ts'

const unavailableMs = 5_000
const ownPrefix = 'x-tollgate-'
const resultHeader = `${ownPrefix}cache`
/** Prevents proxies between the gateway and the client from buffering or changing events. */
const unbuffered = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }

/** A request whose answer may be stored. */
export type Missed = {
  readonly key: RequestKey
  readonly target: Target
  readonly forMs: number
  answer: CollectAnswer | undefined
}

/** A request that got a cached answer, and is charged when it has ended. */
export type Hit = { readonly facts: Parameters<Stores['ledger']['post']>[0]; readonly price: Micros }

/** The amount charged for a request so far; `isOpen` if a charge is not settled. */
type Cost = { amount: Micros | undefined; isOpen: boolean }

type Parts = Pick<Host, 'clock' | 'log' | 'stores'> & {
  readonly kept: AnswerStore
  /** Absent if no model caches answers. */
  readonly purges: Purges
  readonly collecting: Collecting
  readonly responseMax: number
  /** By the id of the charge. */
  readonly costs: Map<string, Cost>
}

/** Finds, serves and stores answers. */
export class AnswerCache {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** A cached answer that is young enough. */
  async find(key: RequestKey, { forMs }: CachePolicy, ageMaxMs: number): Promise<CachedAnswer | undefined> {
    const { clock, kept, purges } = this.#parts
    await purges.ready
    const now = clock.now()
    for (const one of new Set([key.exact, key.shared])) {
      const answer = await kept.get(one)
      if (!answer) continue
      const ageMs = now - answer.keptAt
      if (ageMs < forMs && ageMs <= ageMaxMs && !purges.has(answer)) return answer
    }
    return undefined
  }

  /** Answers with it, once its price is held. @throws Failure insufficient_quota, storage_unavailable */
  async serve(
    context: RequestContext,
    target: Target,
    policy: CachePolicy,
    answer: CachedAnswer,
  ): Promise<{ readonly answer: Answer; readonly hit: Hit | undefined }> {
    const rule = ruleOfHit(policy, answer)
    const price = priceOfHit(rule)
    const isCharged = answer.amount !== undefined || price > 0
    const hit = isCharged ? { facts: chargeFacts(context, target, { rule }), price } : undefined
    if (hit && price > 0) await this.#reserve(context, hit)
    if (hit) context.notes.charge = true
    reportResult(context, 'hit', Math.max(0, (answer.amount ?? 0) - price))
    const { contentType, headers = {}, body, keptAt } = answer
    const age = String(Math.max(0, Math.floor((this.#parts.clock.now() - keptAt) / 1000)))
    const more = contentType.startsWith('text/event-stream') ? unbuffered : {}
    return { answer: { status: 200, headers: { ...headers, 'content-type': contentType, age, ...more }, body }, hit }
  }

  /** @throws Failure insufficient_quota, storage_unavailable */
  async #reserve(context: RequestContext, { facts, price }: Hit): Promise<void> {
    const { ledger } = this.#parts.stores
    if (!ledger.healthy()) throw fail('storage_unavailable', {}, { retryAfterMs: unavailableMs })
    if (!isBounded(context.slots.need(callerSlot), context.slots.get(attributionSlot))) return
    const held = await ledger.hold({ facts, hold: price, idempotency: null }).catch(async (cause: unknown) => {
      // The commit of the hold is in doubt: releases a possible hold.
      await this.#release(facts.id)
      throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
    })
    if (held.kind === 'overdrawn')
      throw fail('insufficient_quota', tellOverdrawn(held, price, facts.currency), {
        values: overdrawnValues(held, price, facts.currency),
      })
  }

  /** Charges a hit after it was sent. */
  async settle(outcome: Outcome, { facts, price }: Hit): Promise<void> {
    if (outcome.kind === 'answered') this.#parts.stores.ledger.post(facts, [itemOfHit(price)], 'confirmed')
    else await this.#release(facts.id)
  }

  async #release(id: string): Promise<void> {
    const { log, stores } = this.#parts
    try {
      await stores.ledger.void(id, 'no answer was sent')
    } catch (err) {
      log.error({ charge: id, err }, 'a charge could not be ended; recovery will')
    }
  }

  /** Records the charges of the request from now on. */
  watch({ id }: RequestContext): void {
    for (const one of [id, useChargeId(id)]) this.#parts.costs.set(one, { amount: undefined, isOpen: false })
  }

  charged({ id, state, amount }: EndedCharge): void {
    const cost = this.#parts.costs.get(id)
    if (!cost) return
    cost.isOpen = state !== 'settled' && state !== 'voided'
    if (state === 'settled') cost.amount = amount
  }

  collect(reply: Reply): CollectAnswer {
    return new CollectAnswer(reply, this.#parts.responseMax, this.#parts.collecting)
  }

  /** Stores an answer only if it was delivered completely. */
  async keep(context: RequestContext, outcome: Outcome, { key, target, forMs, answer }: Missed): Promise<void> {
    const { clock, costs, kept } = this.#parts
    const body = answer?.take()
    const ids = [context.id, useChargeId(context.id)]
    const charges = ids.flatMap(id => costs.get(id) ?? [])
    for (const id of ids) costs.delete(id)
    if (!answer || !body || charges.some(({ isOpen }) => isOpen) || !wasServed(context, outcome)) return
    if (!isComplete(body, answer.reply, (context.client ?? context).dialect)) return
    const amounts = charges.flatMap(({ amount }) => amount ?? [])
    const entry: CachedAnswer = {
      contentType: answer.reply.headers['content-type'] ?? 'application/json',
      headers: ownHeaders(answer.reply),
      body,
      askedAt: context.startedAt,
      keptAt: clock.now(),
      amount: amounts.length === 0 ? undefined : amounts.reduce((sum, one) => sum + one, 0),
      requestId: context.id,
      model: target.model.name,
      keyId: context.slots.need(callerSlot).key.id,
    }
    await kept.put(repeats(body, key.ignored) ? key.exact : key.shared, entry, forMs)
  }
}

export function reportResult(context: RequestContext, result: CacheResult, saved?: Micros): void {
  context.answerHeaders[resultHeader] = result
  context.notes.cache = { result, ...(saved !== undefined && { saved }) }
}

/** Headers that plugins set for the response itself, such as dropped fields. */
function ownHeaders({ headers }: Reply): Reply['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(ownPrefix)))
}

/** Whether the client got all of a successful answer, which was not cut, blocked or doubted. */
function wasServed({ notes }: RequestContext, outcome: Outcome): boolean {
  if (outcome.kind !== 'answered' || outcome.status !== 200 || outcome.reach !== 'complete') return false
  return notes.failed === undefined && notes.blocked === undefined && notes.unrecognised === undefined
}
