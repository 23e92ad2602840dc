import type { ChargeFacts, ChargeRule, ChargeItem } from '../../domain/charge.ts'
import { useSuffix } from '../../plugin-api/image-tool.ts'
import { cellsOf } from '../../domain/shapes/member.ts'
import type { Posting } from '../ledger/posting.ts'
import { type Payer, termMembers } from './members.ts'
import { begunAt, reachMs } from './time-bounds.ts'

/** A quarter of an hour: in every time zone, days begin at one. */
const quarterMs = 900_000
const termNames = Object.keys(termMembers) as (keyof typeof termMembers)[]

/** A charge batch for the writer: only text, because sending it to a thread costs one copy. */
export type ChargeBatch = {
  readonly firstId: string
  readonly lastId: string
  readonly count: number
  /** As stored; `docs/storage.md` describes the format. */
  readonly body: string
  /** The spending of keys, as the JSON of `Spent[]`: one for each key and quarter of an hour, sorted by key id. */
  readonly spent: string
  /** The columns that sums need, for a charge batch with one charge; else null. */
  readonly alone: Alone | null
}

/** Columns of a charge batch with one charge, in their order. */
export type Alone = readonly [at: number, keyId: string, user: string, model: string, currency: string, amount: number]

export type Spent = readonly [keyId: string, amount: number, at: number, user: string, group: string]

/** The payer and quarter of an hour, stored once per charge batch. */
type Paying = {
  readonly place: number
  readonly facts: ChargeFacts
  readonly quarter: number
  amount: number
  at: number
}
/** The terms, stored once for all charges that differ only in payer, time and amount. */
type Terms = { readonly place: number; readonly posting: Posting }

/** Many charges as one text, written in one pass. */
export class ChargeBatchDraft {
  readonly #payers = new Map<string, Paying[]>()
  readonly #terms = new Map<ChargeRule, Terms[]>()
  #oldest = Infinity
  #newest = -Infinity
  #firstId = ''
  #lastId = ''
  #base = 0
  #places = 0
  #body = ''
  count = 0

  /** @returns false for a charge whose time is too far from the others; it goes into the next charge batch */
  add(posting: Posting): boolean {
    const { facts, lines, at } = posting
    const { id } = facts
    const begun = begunAt(id)
    const [oldest, newest] = [Math.min(this.#oldest, begun), Math.max(this.#newest, begun)]
    if (newest - oldest > reachMs) return false
    this.#oldest = oldest
    this.#newest = newest
    if (this.count++ === 0) {
      this.#base = at
      this.#firstId = this.#lastId = id
      this.#put(`{"at":${at}}`)
    } else if (id < this.#firstId) this.#firstId = id
    else if (id > this.#lastId) this.#lastId = id
    const payer = this.#payerOf(facts, at)
    payer.at = at
    let row = `["${id}",${payer.place},${this.#termsOf(posting).place},${at - this.#base}`
    for (const { price, quantity } of lines) {
      row += `,${price},${quantity}`
      payer.amount += price
    }
    this.#put(`${row}]`)
    return true
  }

  finish(): ChargeBatch {
    const spent = spentBy([...this.#payers.values()].flat())
    // Sorted, so that two transactions lock the same keys in the same order.
    spent.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    const { count } = this
    const alone = count === 1 ? this.#alone() : null
    const texts = { firstId: this.#firstId, lastId: this.#lastId, body: `${this.#body}]` }
    return { ...texts, count, alone, spent: JSON.stringify(spent) }
  }

  /** The columns of a lone charge; null for a charge of use besides images, whose items the rollup has to read. */
  #alone(): Alone | null {
    const [[terms] = []] = this.#terms.values()
    const [[payer] = []] = this.#payers.values()
    if (!terms || !payer || this.#firstId.endsWith(useSuffix)) return null
    const { keyId, user } = payer.facts
    const { model, currency } = terms.posting.facts
    return [payer.at, keyId, user, model, currency, payer.amount]
  }

  /** Appends an item as a line of text. @returns its index */
  #put(item: string): number {
    this.#body += this.#places === 0 ? `[${item}` : `,\n${item}`
    return this.#places++
  }

  #payerOf(facts: ChargeFacts, at: number): Paying {
    const { keyId, user, group } = facts
    const attribution = facts.attribution ?? ''
    const quarter = Math.floor(at / quarterMs)
    // One key may have as many end users as charges.
    const whose = attribution === '' ? keyId : `${keyId} ${attribution}`
    const known = this.#payers.get(whose)
    const found = known?.find(one => one.facts.user === user && one.facts.group === group && one.quarter === quarter)
    if (found) return found
    // With many keys nearly every charge has its own payer: a loop over the members would be slow.
    const names: Payer = {
      key_id: keyId,
      user_name: user,
      group_name: group,
      ...(attribution !== '' && { attribution }),
    }
    const payer = { place: this.#put(JSON.stringify(names)), facts, quarter, amount: 0, at }
    if (known) known.push(payer)
    else this.#payers.set(whose, [payer])
    return payer
  }

  #termsOf(posting: Posting): Terms {
    const { rule } = posting.facts
    const known = this.#terms.get(rule)
    const found = known?.find(one => sameTerms(one.posting, posting))
    if (found) return found
    const terms = { place: this.#put(JSON.stringify(writeTerms(posting))), posting }
    if (known) known.push(terms)
    else this.#terms.set(rule, [terms])
    return terms
  }
}

/** The spending of keys, summed over their end users. */
function spentBy(payers: readonly Paying[]): Spent[] {
  const spent = new Map<string, Spent>()
  for (const { facts, amount, at, quarter } of payers) {
    const name = JSON.stringify([facts.keyId, quarter, facts.group, facts.user])
    const before = spent.get(name)
    spent.set(name, [facts.keyId, amount + (before?.[1] ?? 0), Math.max(at, before?.[2] ?? 0), facts.user, facts.group])
  }
  return [...spent.values()]
}

function writeTerms({ facts, lines, delivery }: Posting): object {
  const kinds = lines.map(({ tier, source, flags, told }) => [tier, source, flags, ...(told ? [told] : [])])
  return { ...cellsOf(termMembers, facts), rule: facts.rule, delivery, lines: kinds }
}

function sameTerms(a: Posting, b: Posting): boolean {
  for (let i = 0; i < termNames.length; i++) {
    const name = termNames[i] as (typeof termNames)[number]
    if (a.facts[name] !== b.facts[name]) return false
  }
  return (
    a.delivery === b.delivery &&
    a.lines.length === b.lines.length &&
    a.lines.every((line, i) => sameKind(line, b.lines[i] as ChargeItem))
  )
}

function sameKind(a: ChargeItem, b: ChargeItem): boolean {
  return (
    a.tier === b.tier &&
    a.source === b.source &&
    a.flags.length === b.flags.length &&
    sameFacts(a.told?.facts, b.told?.facts) &&
    a.flags.every((flag, i) => flag === b.flags[i])
  )
}

type LineFacts = NonNullable<ChargeItem['told']>['facts']

function sameFacts(a: LineFacts, b: LineFacts): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
