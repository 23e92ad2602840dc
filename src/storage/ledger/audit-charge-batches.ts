import { decidedTier } from '../../domain/charge.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findBooked, readChargeBatch } from '../charge-batches/find.ts'
import { aloneColumns } from '../charge-batches/members.ts'
import { ChargeBatchPage } from '../charge-batches/batch-page.ts'
import { type Booked, rowsOf } from '../charge-batches/parse.ts'
import { begunAt, reachMs, reachOf } from '../charge-batches/time-bounds.ts'
import { addSpent, type Findings } from './findings.ts'
import { auditRefunds } from './audit-refunds.ts'
import { accountOf, digestCharge, sales, toEntry } from './entries.ts'
import { groupRows } from './find.ts'

const nextBatches = `SELECT chain, position, first_id, last_id, count, ${aloneColumns.join(', ')}, body FROM segment WHERE last_id > ?
  ORDER BY last_id LIMIT ?`

/**
 * Verifies every charge batch against its row and its reversals: it has the recorded number of charges, each of them is
 * only here and only once, and a search finds it. Adds up the spending of keys in charge batches.
 */
export function* auditChargeBatches(findings: Findings): QueryProgram<void> {
  // Charges that a later charge batch might contain again.
  const recent = new Map<string, string>()
  const page = new ChargeBatchPage()
  let after = ''
  let reversals = 0
  for (;;) {
    const rows = yield ask(nextBatches, after, page.size)
    const last = rows.at(-1)
    if (!last) break
    const booked = rows.flatMap(row => auditBatch(findings, row, recent))
    page.had(booked.length)
    const ids = booked.map(({ id }) => id)
    yield* reportTwice(findings, ids)
    reversals += yield* auditReversals(findings, booked)
    after = text(last, 'last_id')
    forgetBefore(after, recent)
  }
  yield* reportStrays(findings, reversals)
}

/** Removes ids that no later charge batch can contain. Ids are inserted nearly in order, so it may stop early. */
function forgetBefore(after: string, recent: Map<string, string>): void {
  for (const id of recent.keys()) {
    if (reachOf(id) > after) return
    recent.delete(id)
  }
}

function nameOf(row: Row): string {
  return `charge batch ${whole(row, 'position')} of ${text(row, 'chain')}`
}

/** @returns the charges of the batch, as far as they can be read */
function auditBatch(findings: Findings, row: Row, recent: Map<string, string>): readonly Booked[] {
  const name = nameOf(row)
  let booked: readonly Booked[] = []
  try {
    booked = readChargeBatch(row)
  } catch (error) {
    findings.report(error instanceof Error ? error.message : String(error))
    return []
  }
  const [first, last] = [text(row, 'first_id'), text(row, 'last_id')]
  if (booked.length !== whole(row, 'count'))
    findings.report(`${name}: ${whole(row, 'count')} charges were written, ${booked.length} exist`)
  if (!booked.some(({ id }) => id === first) || !booked.some(({ id }) => id === last))
    findings.report(`${name}: its first or its last charge is gone`)
  if (!(begunAt(last) - begunAt(first) <= reachMs))
    findings.report(`${name}: it spans more time than a search covers, from ${first} to ${last}`)
  if (!isAddedUp(row, booked)) findings.report(`${name}: its columns for sums differ from its charge`)
  for (const one of booked) {
    const { id, payer, terms, amount } = one
    const other = recent.get(id)
    if (other !== undefined) findings.report(`charge ${id}: is in ${other} and in ${name}`)
    recent.set(id, name)
    if (id < first || id > last) findings.report(`charge ${id}: is in ${name}, outside its range of ids`)
    if (terms.lines.some(([tier]) => tier === decidedTier))
      findings.report(`charge ${id}: has a price that a person decided, and no person settled it`)
    findings.charges++
    findings.entries++
    findings.lines += terms.lines.length
    addSpent(findings, payer, amount, one.at)
  }
  return booked
}

/** Whether the columns by which SQL adds up a lone charge match that charge. */
function isAddedUp(row: Row, [only, ...others]: readonly Booked[]): boolean {
  const found = aloneColumns.map(column => row[column])
  if (found.every(cell => cell === null)) return true
  if (!only || others.length > 0) return false
  const { payer, terms, at, amount } = only
  const wanted = [at, payer.key_id, payer.user_name, terms.model, terms.currency, amount]
  return wanted.every((cell, i) => String(cell) === String(found[i]))
}

/** Reports charges that have separate rows besides their batch. */
function* reportTwice(findings: Findings, ids: readonly string[]): QueryProgram<void> {
  for (const row of yield* selectIn('SELECT id FROM charge WHERE id IN (…)', ids))
    findings.report(`charge ${text(row, 'id')}: is in a charge batch and has rows too`)
}

/** @returns the number of reversals */
function* auditReversals(findings: Findings, booked: readonly Booked[]): QueryProgram<number> {
  const byId = new Map(booked.map(one => [one.id, one]))
  const rows = yield* selectIn('SELECT * FROM reversal WHERE charge_id IN (…)', [...byId.keys()])
  for (const [id, some] of groupRows(rows, 'charge_id')) auditReversalsOf(findings, byId.get(id) as Booked, some)
  return rows.length
}

/** Reports entries about charges that are in no charge batch. Searches only if there are more than were found. */
function* reportStrays(findings: Findings, met: number): QueryProgram<void> {
  const [all] = yield ask('SELECT count(*) AS n FROM reversal')
  if (!all || whole(all, 'n') === met) return
  for (const row of yield ask('SELECT charge_id FROM reversal ORDER BY charge_id')) {
    const id = text(row, 'charge_id')
    if (!(yield* findBooked([id])).has(id)) findings.report(`charge ${id}: is gone, but has a row in reversal`)
  }
}

function auditReversalsOf(findings: Findings, booked: Booked, rows: readonly Row[]): void {
  const entries = rows.map(toEntry)
  const report = (problem: string): void => findings.report(`charge ${booked.id}: ${problem}`)
  const account = accountOf(booked.payer.key_id)
  const { charge, lines } = rowsOf(booked)
  const digest = digestCharge(charge, lines)
  for (const entry of entries) {
    if (entry.debit !== sales || entry.credit !== account) report('its refund entry names other accounts')
    if (entry.digest !== digest) report('differs from its refund entry')
    addSpent(findings, booked.payer, -entry.amount, booked.at, entry.at)
  }
  auditRefunds(entries, booked.amount, report)
}
