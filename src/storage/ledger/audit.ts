import { decidedTier } from '../../domain/charge.ts'
import type { LevelKind } from '../../domain/budget.ts'
import type { Anchor, Audit, BudgetCorrection } from '../../domain/index.ts'
import { auditAnchors } from './anchor.ts'
import { before } from '../accounts/opening.ts'
import { balanceOf, cash, digestTopUp } from '../accounts/top-up.ts'
import { auditCosts } from '../costs/audit-costs.ts'
import { ask, type Row, type Rows, type QueryProgram } from '../query.ts'
import { text, whole, wholeOrNull } from '../rows.ts'
import { addHeld, addSpent, type Findings, totalsOf } from './findings.ts'
import { auditRunning, type Behind, missingOf, openRunning, readLeftBehind, rowsOfAccounts } from './audit-running.ts'
import { auditChains } from './audit-chains.ts'
import { auditOpenings } from './audit-openings.ts'
import { auditChargeBatches } from './audit-charge-batches.ts'
import { auditRefunds } from './audit-refunds.ts'
import { accountOf, type Entry, isDigestOf, sales, toEntry } from './entries.ts'
import { groupRows } from './find.ts'
import { type Corrections, countRepairs } from './repair.ts'

/** The maximum number of listed problems; the others are only counted. */
const problemsMax = 1_000
const pageRows = 1_000
/** Milliseconds within which the holds of an ended process are released. */
const holdsEndMs = 60_000

/** Actors that are no persons. */
const byItself = new Set(['gateway', 'recovery'])

/**
 * Verifies the books from their rows alone: every charge against its items and entries, every key against its charges,
 * every chain of entries against its hashes. Must run on one snapshot; changes nothing.
 */
export function* audit(options: AuditOptions): QueryProgram<Audit> {
  const { corrections, problemCount: _count, ...found } = yield* auditBooks(options)
  return { ...found, budgets: corrections.length }
}

type AuditOptions = {
  readonly at: number
  /** The zone of the days and months of budgets; undefined if it is unknown, so that only totals are verified. */
  readonly zone: string | undefined
  readonly anchors: readonly Anchor[]
}

/**
 * The same before a correction of budgets: the amounts to add, and whether the charges themselves are free of
 * problems.
 */
export function* findCorrections(options: Omit<AuditOptions, 'anchors'>): QueryProgram<Corrections> {
  const repairs = yield* countRepairs()
  const { corrections, problemCount } = yield* auditBooks({ ...options, anchors: [] })
  const ofBudgets = corrections.reduce((sum, { problems }) => sum + problems.length, 0)
  return { repairs, corrections, isSound: problemCount === ofBudgets }
}

function* auditBooks({ at, zone, anchors }: AuditOptions) {
  const problems: string[] = []
  let problemCount = 0
  const { running, since } = yield* openRunning(zone, at)
  const findings: Findings = {
    charges: 0,
    lines: 0,
    entries: 0,
    left: 0,
    totals: new Map(),
    accounts: new Map(),
    running,
    corrections: [],
    report(problem) {
      if (problemCount++ < problemsMax) problems.push(problem)
    },
  }
  yield* auditCharges(findings, yield* findLive(at))
  yield* auditChargeBatches(findings)
  yield* auditChains(findings)
  yield* auditAnchors(anchors, problem => findings.report(problem))
  yield* auditOpenings(findings)
  const behind = { since, left: yield* readLeftBehind(findings) }
  yield* auditKeys(findings, behind)
  yield* auditAccounts(findings, behind)
  yield* auditTopUps(findings)
  if (problemCount > problemsMax) problems.push(`and ${problemCount - problemsMax} more`)
  const sums: string[] = []
  yield* auditCosts(problem => void (sums.length < problemsMax && sums.push(problem)))
  const { charges, lines, entries, left, corrections } = findings
  return { charges, lines, entries, left, problems, problemCount, sums, corrections }
}

/**
 * Processes that may have reserved charges: those with a lease, or with a lease that has just expired. In the form of
 * `liveName`.
 */
function* findLive(at: number): QueryProgram<ReadonlySet<string>> {
  const rows = yield ask('SELECT owner, epoch FROM replica WHERE lease_until > now_ms(?) - ?', at, holdsEndMs)
  return new Set(rows.map(liveName))
}

/** The name of a process from a row of `replica` or of `charge`. */
function liveName(row: Row): string {
  return `${text(row, 'owner')} ${whole(row, 'epoch')}`
}

function* auditCharges(findings: Findings, live: ReadonlySet<string>): QueryProgram<void> {
  let after = ''
  for (;;) {
    const charges = yield ask('SELECT * FROM charge WHERE id > ? ORDER BY id LIMIT ?', after, pageRows)
    const last = charges.at(-1)
    if (!last) return yield* auditStrays(findings, after)
    const upTo = text(last, 'id')
    const range = 'charge_id > ? AND charge_id <= ?'
    const lines = yield ask(`SELECT * FROM line WHERE ${range} ORDER BY charge_id, idx`, after, upTo)
    const entries = yield ask(`SELECT * FROM entry WHERE ${range}`, after, upTo)
    const linesOf = groupRows(lines, 'charge_id')
    const entriesOf = groupRows(entries, 'charge_id')
    findings.charges += charges.length
    findings.lines += lines.length
    for (const charge of charges) {
      const id = text(charge, 'id')
      auditCharge(charge, linesOf.get(id) ?? [], (entriesOf.get(id) ?? []).map(toEntry), live, findings)
      linesOf.delete(id)
      entriesOf.delete(id)
    }
    for (const id of linesOf.keys()) reportStray(findings, 'line', id)
    for (const id of entriesOf.keys()) reportStray(findings, 'entry', id)
    after = upTo
  }
}

function auditCharge(
  charge: Row,
  lines: Rows,
  entries: readonly Entry[],
  live: ReadonlySet<string>,
  findings: Findings,
): void {
  const report = (problem: string) => findings.report(`charge ${text(charge, 'id')}: ${problem}`)
  const state = text(charge, 'state')
  const amount = whole(charge, 'amount')
  const keyId = text(charge, 'key_id')
  // Adds the key even for a charge of 0, so that a deleted key is reported.
  totalsOf(findings, keyId)

  if (whole(charge, 'line_count') !== lines.length) {
    report(`${whole(charge, 'line_count')} lines were committed, ${lines.length} exist`)
  }
  const sum = lines.reduce((total, line) => total + whole(line, 'price'), 0)
  // Estimated items stay with a charge that an administrator has voided, and are not owed.
  if (sum !== amount && state !== 'voided') report(`the sum of its lines is ${sum}, its amount is ${amount}`)
  if ((state === 'reserved') !== (wholeOrNull(charge, 'ended_at') === null))
    report(`is ${state}, which contradicts its end time`)
  if (state === 'reserved') {
    addHeld(findings, charge, whole(charge, 'hold'))
    // Without a running gateway, as in a copy of the database, no process can have ended the charge yet.
    if (live.size === 0) findings.left++
    else if (!live.has(liveName(charge))) report('is still reserved by a gateway that is gone')
  }
  if (state === 'needs_review' && whole(charge, 'kept') === 1) addHeld(findings, charge, whole(charge, 'hold'))
  if (state === 'voided' && amount !== 0) report(`is voided, but costs ${amount}`)

  const settled = entries.find(entry => entry.kind === 'settle')
  if (state === 'settled' && !settled) report('is settled without an entry')
  if (state !== 'settled' && settled) report(`is ${state}, but has a settle entry`)
  if (settled && byItself.has(settled.actor) && lines.some(line => line['tier'] === decidedTier))
    report('has a price that a person decided, and no person settled it')
  for (const entry of entries) {
    const fromKey = entry.kind !== 'refund'
    const [debit, credit] = fromKey ? [accountOf(keyId), sales] : [sales, accountOf(keyId)]
    if (entry.debit !== debit || entry.credit !== credit) report(`its ${entry.kind} entry names other accounts`)
    if (entry.kind !== 'refund' && entry.amount !== (entry.kind === 'void' ? 0 : amount)) {
      report(`the amount of its ${entry.kind} entry is ${entry.amount}, its own amount is ${amount}`)
    }
    if (entry.kind === 'refund' && !settled) report('is refunded, but was never settled')
    if (!isDigestOf(entry.digest, charge, lines)) report(`differs from its ${entry.kind} entry`)
    const spent = fromKey ? entry.amount : -entry.amount
    addSpent(findings, charge, spent, wholeOrNull(charge, 'ended_at') ?? entry.at, entry.at)
  }
  auditRefunds(
    entries.filter(({ kind }) => kind === 'refund'),
    amount,
    report,
  )
}

/** Reports items and entries after the last charge, which belong to no charge. */
function* auditStrays(findings: Findings, after: string): QueryProgram<void> {
  for (const table of ['line', 'entry'] as const) {
    const rows = yield ask(`SELECT DISTINCT charge_id FROM ${table} WHERE charge_id > ? LIMIT ?`, after, problemsMax)
    for (const row of rows) reportStray(findings, table, text(row, 'charge_id'))
  }
}

function reportStray(findings: Findings, table: 'line' | 'entry', id: string): void {
  findings.report(`charge ${id}: is gone, but has a row in ${table}`)
}

function* auditKeys(findings: Findings, behind: Behind): QueryProgram<void> {
  const keys = yield ask('SELECT id, spent, held, day_start, day_spent, month_start, month_spent FROM key')
  for (const key of keys) {
    const id = text(key, 'id')
    auditPayer(findings, { kind: 'key', name: id }, [key], behind)
    findings.totals.delete(id)
  }
  for (const id of findings.totals.keys()) findings.report(`key ${id}: is gone, but has charges`)
}

/** Verifies users, groups and balances: each is the sum of its rows, and of its charges. */
function* auditAccounts(findings: Findings, behind: Behind): QueryProgram<void> {
  for (const [account, rows] of yield* rowsOfAccounts()) {
    auditPayer(findings, payerOf(account), rows, behind)
    findings.accounts.delete(account)
  }
  for (const account of findings.accounts.keys()) auditPayer(findings, payerOf(account), [], behind)
}

/** Compares a payer's rows with its charges; reports differences and adds the correction. */
function auditPayer(findings: Findings, payer: BudgetCorrection['payer'], rows: Rows, behind: Behind): void {
  const name = `${payer.kind} ${payer.name}`
  const { spent, held } = (payer.kind === 'key' ? findings.totals.get(payer.name) : findings.accounts.get(name)) ?? {
    spent: 0,
    held: 0,
  }
  const sum = (column: string): number => rows.reduce((total, row) => total + whole(row, column), 0)
  const [spentThere, heldThere] = [sum('spent'), sum('held')]
  const problems: string[] = []
  if (rows.length === 0) {
    if (spent !== 0 || held !== 0) problems.push(`${name}: has no account, but charges of ${spent}`)
  } else {
    const whose = payer.kind === 'key' ? 'entries' : 'charges'
    if (spentThere !== spent) problems.push(`${name}: has spent ${spentThere}, its ${whose} say ${spent}`)
    if (heldThere !== held) problems.push(`${name}: holds ${heldThere}, its open charges say ${held}`)
    problems.push(...auditRunning(findings, name, rows, behind))
  }
  if (problems.length === 0) return
  for (const problem of problems) findings.report(problem)
  findings.corrections.push({
    payer,
    problems,
    spent: spent - spentThere,
    held: held - heldThere,
    day: missingOf(findings, 'day', name, rows, behind),
    month: missingOf(findings, 'month', name, rows, behind),
  })
}

function payerOf(account: string): BudgetCorrection['payer'] {
  const at = account.indexOf(' ')
  return { kind: account.slice(0, at) as LevelKind, name: account.slice(at + 1) }
}

/** The table also has imported spending. */
const paidIn = `SELECT * FROM topup WHERE debit NOT IN ('${before.day}', '${before.month}') ORDER BY charge_id`

/** Verifies that the payments of each user equal the balance, and that each entry is unchanged. */
function* auditTopUps(findings: Findings): QueryProgram<void> {
  const paid = new Map<string, number>()
  for (const row of yield ask(paidIn)) {
    const { chargeId, debit, credit, amount, digest } = toEntry(row)
    if (debit !== cash || digest !== digestTopUp(chargeId, credit, amount))
      findings.report(`topup ${chargeId}: was changed after the payment`)
    paid.set(credit, (paid.get(credit) ?? 0) + amount)
  }
  // The entries of an erased user have the earlier name.
  const users =
    'SELECT name, coalesce(booked_as, name) AS entered, balance FROM "user" WHERE balance IS NOT NULL ORDER BY name'
  for (const row of yield ask(users)) {
    const [name, account] = [text(row, 'name'), balanceOf(text(row, 'entered'))]
    const entries = paid.get(account) ?? 0
    if (whole(row, 'balance') !== entries)
      findings.report(`user ${name}: has top-ups of ${whole(row, 'balance')}, but entries of ${entries}`)
    paid.delete(account)
  }
  for (const [credit, amount] of paid) findings.report(`${credit}: is gone, but has top-ups of ${amount}`)
}
