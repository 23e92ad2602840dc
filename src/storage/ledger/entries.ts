import { hash } from 'node:crypto'
import { insertRows } from '../insert-rows.ts'
import type { Row, Rows, QueryProgram } from '../query.ts'
import { text, textOrNull, whole, wholeOrNull } from '../rows.ts'
import { moveEnd, readEnd } from './chain.ts'
import type { WriterIdentity } from '../writer-identity.ts'

/**
 * `settle`: the key pays. `refund`: the key gets money back. `void`: an administrator's decision against a charge.
 * `topup`: a payment, or imported spending.
 */
export type EntryKind = 'settle' | 'refund' | 'void' | 'topup'

export type Entry = {
  /** The id of a charge, or the entry's own id for a payment. */
  readonly chargeId: string
  readonly kind: EntryKind
  /**
   * Accounts: `key:ID` or `sales`; `cash` and `balance:USER` for payments; `before:month` and a payer for imported
   * spending.
   */
  readonly debit: string
  readonly credit: string
  readonly amount: number
  /** The author of the decision: `gateway`, `recovery`, or a person's name. */
  readonly actor: string
  readonly reason: string | null
  readonly at: number
  /** The digest of the charge and its items, as booked. */
  readonly digest: string
  /** The number of a refund among those of its charge, from 0; it is not part of the hash. */
  readonly nth?: number
}

export const sales = 'sales'
export const accountOf = (keyId: string): string => `key:${keyId}`

/** Appends an entry to this writer's chain. */
export function post(identity: WriterIdentity, entry: Entry, table: 'entry' | 'topup' = 'entry'): QueryProgram<void> {
  return postAll(identity, [entry], table)
}

const columns = `chain, position, charge_id, kind, debit, credit, amount, actor, reason, created_at, digest, prev_hash,
  hash`.split(/,\s+/)

/**
 * Appends entries to this writer's chain: each has the hash of the one before it. Entries about charges in batches go
 * to `reversal`, those of payments to `topup`.
 */
export function* postAll(
  { chain }: WriterIdentity,
  entries: readonly Entry[],
  table: 'entry' | 'reversal' | 'topup' = 'entry',
): QueryProgram<void> {
  if (entries.length === 0) return
  let { position, head } = yield* readEnd(chain)
  const rows: Row[] = []
  for (const entry of entries) {
    const before = head
    position++
    head = hashEntry(chain, position, before, entry)
    const { chargeId, kind, debit, credit, amount, actor, reason, at, digest } = entry
    const names = { chain, position, charge_id: chargeId, kind, debit, credit, amount, actor, reason }
    const row = { ...names, created_at: at, digest, prev_hash: before, hash: head }
    rows.push(table === 'topup' ? row : { ...row, nth: entry.nth ?? 0 })
  }
  yield* insertRows(table, table === 'topup' ? columns : [...columns, 'nth'], rows)
  yield* moveEnd(chain, { position, head })
}

export function hashEntry(chain: string, position: number, before: string, entry: Entry): string {
  const { chargeId, kind, debit, credit, amount, actor, reason, at, digest } = entry
  return sha256([chain, position, before, chargeId, kind, debit, credit, amount, actor, reason, at, digest])
}

export function toEntry(row: Row): Entry {
  return {
    chargeId: text(row, 'charge_id'),
    kind: text(row, 'kind') as EntryKind,
    debit: text(row, 'debit'),
    credit: text(row, 'credit'),
    amount: whole(row, 'amount'),
    actor: text(row, 'actor'),
    reason: textOrNull(row, 'reason'),
    at: whole(row, 'created_at'),
    digest: text(row, 'digest'),
    ...(row['nth'] !== undefined && { nth: whole(row, 'nth') }),
  }
}

/**
 * The text that the hash of an entry covers: the facts of the charge and every item, in order. Takes rows of `charge`
 * and of `line`.
 */
export function digestCharge(charge: Row, lines: Rows): string {
  const facts = [
    text(charge, 'id'),
    text(charge, 'key_id'),
    text(charge, 'user_name'),
    text(charge, 'group_name'),
    text(charge, 'operation'),
    text(charge, 'model'),
    text(charge, 'family'),
    text(charge, 'upstream'),
    text(charge, 'config_revision'),
    text(charge, 'currency'),
    textOrNull(charge, 'size'),
    textOrNull(charge, 'quality'),
    whole(charge, 'n'),
    text(charge, 'rule'),
    text(charge, 'state'),
    textOrNull(charge, 'reason'),
    whole(charge, 'hold'),
    whole(charge, 'amount'),
    whole(charge, 'created_at'),
    wholeOrNull(charge, 'ended_at'),
    ...attributed(charge),
    ...vendorCostOf(charge),
  ]
  const priced = lines.map(line => [
    whole(line, 'idx'),
    text(line, 'tier'),
    text(line, 'source'),
    wholeOrNull(line, 'width'),
    wholeOrNull(line, 'height'),
    whole(line, 'price'),
    text(line, 'flags'),
    wholeOrNull(line, 'quantity'),
    ...itemFactsOf(line),
  ])
  return sha256([facts, priced])
}

/**
 * The part of the digest for the attribution: empty without end user and tags, and for charges from before this column
 * existed.
 */
function attributed({ attribution }: Row): readonly string[] {
  return typeof attribution === 'string' ? [attribution] : []
}

/** The part of the digest for the cost at the vendor: empty for charges in batches, which have none. */
function vendorCostOf(charge: Row): readonly (number | null)[] {
  return charge['vendor_cost'] === undefined ? [] : [wholeOrNull(charge, 'vendor_cost')]
}

/** Whether an entry has the digest of the charge. Digests of earlier versions do not cover the cost at the vendor. */
export function isDigestOf(digest: string, charge: Row, lines: Rows): boolean {
  return digest === digestCharge(charge, lines) || digest === digestCharge(withoutVendorCost(charge), lines)
}

function withoutVendorCost({ vendor_cost: _cost, ...charge }: Row): Row {
  return charge
}

/** The part of the digest for reported facts: empty for most items, and for items from before this column existed. */
function itemFactsOf(line: Row): readonly string[] {
  const itemFacts = line['told']
  return typeof itemFacts === 'string' ? [itemFacts] : []
}

function sha256(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'hex')
}
