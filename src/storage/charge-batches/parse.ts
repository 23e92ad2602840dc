import type { Charge, ChargeItem } from '../../domain/index.ts'
import { readRow } from '../../domain/shapes/member.ts'
import type { Row } from '../query.ts'
import { attributionOf } from '../rows.ts'
import { type Payer, payerMembers, termMembers, type Terms } from './members.ts'

/** A charge in a batch. */
export type Booked = {
  readonly id: string
  readonly payer: Payer
  readonly terms: Terms
  readonly at: number
  readonly amount: number
  /** The price and the quantity of each line in turn. */
  readonly counts: readonly number[]
}

/**
 * Parses the charges of a batch, in the order of posting.
 * @throws Error that describes the fault of the text
 */
export function parseChargeBatch(body: string): readonly Booked[] {
  const items = JSON.parse(body) as readonly unknown[]
  const base = (items[0] as { at?: unknown } | undefined)?.at
  if (!Number.isSafeInteger(base)) throw new Error('it does not begin with its time')
  const booked: Booked[] = []
  for (const item of items) if (Array.isArray(item)) booked.push(parseCharge(item, items, base as number))
  return booked
}

function parseCharge(item: readonly unknown[], items: readonly unknown[], base: number): Booked {
  const [id, payerAt, termsAt, after] = item as [string, number, number, number]
  const payer = items[payerAt] as Payer | undefined
  const terms = items[termsAt] as Terms | undefined
  const counts = item.slice(4) as number[]
  if (typeof id !== 'string' || payer?.key_id === undefined || counts.length !== 2 * (terms?.lines?.length ?? -1))
    throw new Error(`${JSON.stringify(item)} is no charge`)
  let amount = 0
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i] as number
    if (!Number.isSafeInteger(count) || count < 0) throw new Error(`${JSON.stringify(item)} is no charge`)
    if (i % 2 === 0) amount += count
  }
  return { id, payer, terms: terms as Terms, at: base + after, amount, counts }
}

function linesOf({ terms, counts }: Booked): readonly ChargeItem[] {
  return terms.lines.map(([tier, source, flags, told], index) => ({
    index,
    tier,
    source,
    width: null,
    height: null,
    price: counts[2 * index] as number,
    flags,
    quantity: counts[2 * index + 1] as number,
    ...(told && { told }),
  }))
}

/** Converts to a charge, in the same form as a charge in rows. */
export function chargeOf(booked: Booked, refunded: number): Charge {
  const { id, payer, terms, at, amount } = booked
  const { rule, delivery } = terms
  return {
    id,
    ...readRow(payerMembers, payer),
    ...attributionOf(payer),
    ...readRow(termMembers, terms),
    rule,
    state: 'settled',
    reason: null,
    hold: 0,
    held: 0,
    amount,
    refunded,
    createdAt: at,
    endedAt: at,
    vendorCost: null,
    delivery,
    lines: linesOf(booked),
  }
}

/** The charge as separate rows, which the hash of an entry about it covers. */
export function rowsOf(booked: Booked): { readonly charge: Row; readonly lines: readonly Row[] } {
  const { id, payer, terms, at, amount } = booked
  const { delivery: _, lines: __, rule, ...facts } = terms
  const ended = { state: 'settled', reason: null, hold: 0, amount, created_at: at, ended_at: at }
  return {
    charge: { id, ...payer, ...facts, rule: JSON.stringify(rule), ...ended },
    lines: linesOf(booked).map(({ index, flags, told: ___, ...line }) => ({
      ...line,
      idx: index,
      flags: JSON.stringify(flags),
    })),
  }
}
