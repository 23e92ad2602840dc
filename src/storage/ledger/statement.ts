import {
  type Charge,
  labelsIn,
  type Statement,
  type StatementAccount,
  type StatementLine,
  type StatementQuery,
  type StatementTotals,
} from '../../domain/index.ts'
import { idOfLabel } from '../labels.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { ChargeBatchPage } from '../charge-batches/batch-page.ts'
import { readChargeBatch } from '../charge-batches/find.ts'
import { afterAll } from '../charge-batches/time-bounds.ts'
import { eachCharge } from './find.ts'
import { splitRefund } from './split-amount.ts'
import { sumBalances } from './sum-balances.ts'

/** From `from` (inclusive) to `until` (exclusive), in milliseconds since the epoch. */
type Span = { readonly from: number; readonly until: number }

/**
 * The times of a charge's settlement and refunds. For a charge in a batch the settlement is the charge's own time.
 */
type Booking = { settledAt?: number; readonly refunds: { readonly at: number; readonly amount: number }[] }

const none: StatementTotals = { charges: 0, charged: 0, refunds: 0, refunded: 0 }

/**
 * The charged and refunded amounts between two times by payer: from the charges and their items, and next to it the
 * sums of the ledger's entries. Reads the whole ledger, because of the opening amounts. Must run on one snapshot.
 */
export function* sumStatement({ endUser, tag, ...span }: StatementQuery): QueryProgram<Statement> {
  const accounts = new Accounts(span)
  const labels = [
    ...(endUser === undefined ? [] : [['end_user', yield* idOfLabel('end_user', endUser)] as const]),
    ...(tag === undefined ? [] : [['tag', yield* idOfLabel('tag', tag)] as const]),
  ]
  const isSelected = ({ attribution }: Charge): boolean =>
    labels.every(([kind, id]) => labelsIn(attribution, kind).includes(id))
  yield* eachCharge('', afterAll, function* (some) {
    const settled = some.filter(({ state }) => state === 'settled')
    const [first, last] = [settled[0], settled.at(-1)]
    if (!first || !last) return
    const bookings = yield* findBookings(first.id, last.id)
    for (const charge of settled) accounts.add(charge, bookings.get(charge.id), isSelected(charge))
  })
  return {
    accounts: accounts.inOrder(),
    counted: accounts.totals,
    booked: yield* sumEntries(span),
    balances: yield* sumBalances(span),
  }
}

/** The times of settlement of charges in rows, and all refunds, for charges from one id to another. */
function* findBookings(first: string, last: string): QueryProgram<ReadonlyMap<string, Booking>> {
  const found = new Map<string, Booking>()
  for (const table of ['entry', 'reversal']) {
    const rows = yield ask(
      `SELECT charge_id, kind, amount, created_at FROM ${table} WHERE charge_id >= ? AND charge_id <= ?`,
      first,
      last,
    )
    for (const row of rows) {
      const [id, at] = [text(row, 'charge_id'), whole(row, 'created_at')]
      let booking = found.get(id)
      if (!booking) found.set(id, (booking = { refunds: [] }))
      if (row['kind'] === 'settle') booking.settledAt = at
      if (row['kind'] === 'refund') booking.refunds.push({ at, amount: whole(row, 'amount') })
    }
  }
  return found
}

type Writable<T> = { -readonly [N in keyof T]: T[N] }
type Account = Writable<Omit<StatementAccount, 'closing' | 'lines'>> & {
  readonly lines: Map<string, Writable<StatementLine>>
}

class Accounts {
  readonly totals: Writable<StatementTotals> = { ...none }
  readonly #accounts = new Map<string, Account>()
  readonly #span: Span

  constructor(span: Span) {
    this.#span = span
  }

  /**
   * Adds a charge to the totals, which are compared with the entries. `isSelected`: whether it is also added to its
   * account.
   */
  add(charge: Charge, booking: Booking | undefined, isSelected: boolean): void {
    const { from, until } = this.#span
    const settledAt = booking?.settledAt ?? charge.createdAt
    if (settledAt >= until) return
    const refunds = booking?.refunds ?? []
    const isOwn = settledAt >= from
    const before = sumOf(refunds.filter(({ at }) => at < from))
    const now = refunds.filter(({ at }) => at >= from && at < until)
    const back = sumOf(now)
    this.totals.charges += Number(isOwn)
    this.totals.charged += isOwn ? charge.amount : 0
    this.totals.refunds += now.length
    this.totals.refunded += back
    if (!isSelected) return
    const account = this.#accountOf(charge)
    if (!isOwn) account.opening += charge.amount
    account.opening -= before
    if (!isOwn && now.length === 0) return
    if (isOwn) {
      account.charges++
      account.charged += charge.amount
      account.refundedLater += sumOf(refunds.filter(({ at }) => at >= until))
    } else account.refundedEarlier += back
    account.refunds += now.length
    account.refunded += back
    addLines(account, charge, isOwn, { amount: back, before })
  }

  #accountOf({ user, group, currency }: Charge): Account {
    const name = JSON.stringify([user, group, currency])
    let account = this.#accounts.get(name)
    if (!account)
      this.#accounts.set(
        name,
        (account = {
          user,
          group,
          currency,
          opening: 0,
          ...none,
          refundedEarlier: 0,
          refundedLater: 0,
          lines: new Map(),
        }),
      )
    return account
  }

  /** Accounts by user, group and currency; those without entries are left out. */
  inOrder(): readonly StatementAccount[] {
    return [...this.#accounts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, account]) => ({
        ...account,
        closing: account.opening + account.charged - account.refunded,
        lines: [...account.lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line),
      }))
      .filter(({ opening, charges, refunds }) => opening !== 0 || charges + refunds > 0)
  }
}

function sumOf(refunds: Booking['refunds']): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0)
}

function addLines(
  account: Account,
  { model, lines }: Charge,
  isOwn: boolean,
  { amount, before }: { readonly amount: number; readonly before: number },
): void {
  const prices = lines.map(({ price }) => price)
  const backs = splitRefund(amount, before, prices)
  for (const [i, { tier, quantity, price }] of lines.entries()) {
    const name = JSON.stringify([model, tier])
    let line = account.lines.get(name)
    if (!line) account.lines.set(name, (line = { model, tier, images: 0, quantity: 0, charged: 0, refunded: 0 }))
    line.refunded += backs[i] ?? 0
    if (!isOwn) continue
    line.charged += price
    if (quantity === null) line.images++
    else line.quantity += quantity
  }
}

const rowTotals = (table: string): string => `SELECT kind, count(*) AS count, coalesce(sum(amount), 0) AS amount
  FROM ${table} WHERE created_at >= ? AND created_at < ? AND kind IN ('settle', 'refund') GROUP BY kind`

/** The sums of the entries between two times, from rows and charge batches. */
export function* sumEntries({ from, until }: Span): QueryProgram<StatementTotals> {
  const totals: Writable<StatementTotals> = { ...none }
  for (const table of ['entry', 'reversal'])
    for (const row of yield ask(rowTotals(table), from, until)) {
      const [count, amount] = [whole(row, 'count'), whole(row, 'amount')]
      if (row['kind'] === 'settle') {
        totals.charges += count
        totals.charged += amount
      } else {
        totals.refunds += count
        totals.refunded += amount
      }
    }
  for (const { id } of (yield ask('SELECT id FROM chain ORDER BY id')).map(row => ({ id: text(row, 'id') })))
    yield* addBatches(totals, id, { from, until })
  return totals
}

function* addBatches(totals: Writable<StatementTotals>, chain: string, { from, until }: Span): QueryProgram<void> {
  const page = new ChargeBatchPage()
  for (let after = 0; ; ) {
    const { size } = page
    const rows = yield ask(
      'SELECT chain, position, body FROM segment WHERE chain = ? AND position > ? ORDER BY position LIMIT ?',
      chain,
      after,
      size,
    )
    let charges = 0
    for (const row of rows)
      for (const { at, amount } of readChargeBatch(row)) {
        charges++
        if (at < from || at >= until) continue
        totals.charges++
        totals.charged += amount
      }
    page.had(charges)
    const last = rows.at(-1)
    if (!last || rows.length < size) return
    after = whole(last, 'position')
  }
}
