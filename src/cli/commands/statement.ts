import {
  accountsOf,
  balancesOf,
  balanceTable,
  differencesOf,
  formatMoney,
  isOfLabel,
  type LabelKind,
  labelNote,
  readMonth,
  showSplit,
  showStatement,
  splitNote,
  splitStatement,
  splitTable,
  statementPage,
  type StatementAccount,
  type StatementBalance,
  type StatementMonth,
  type StatementSplit,
  statementTable,
  totalsOfAccounts,
  type Storage,
} from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { readZone } from '../moments.ts'
import { withStorage } from '../with-storage.ts'
import { withProgress } from '../progress.ts'
import { formatTable } from '../table.ts'
import { safeLine } from '../safe-text.ts'

type Options = {
  readonly month: string
  readonly zone?: string
  readonly user?: string
  readonly group?: string
  readonly endUser?: string
  readonly tag?: string
  readonly balances: boolean
  readonly by?: LabelKind
  readonly config: string
  readonly format: string
}

/** Prints a month's statement of each user and group, and compares it with the ledger. Exit 1 if they differ. */
export async function statement(options: Options): Promise<void> {
  const { user, group, endUser, tag, format, by } = options
  const labels = { endUser, tag }
  if (options.balances && by !== undefined)
    throw new Exit(exitCodes.usage, '--by splits charges, not --balances: omit one')
  if (isOfLabel(labels) && (options.balances || by !== undefined))
    throw new Exit(
      exitCodes.usage,
      `a statement of an end user or a tag has no ${by === undefined ? '--balances' : '--by'}: omit one`,
    )
  const month = readMonth(options.month, readZone(options.zone, 'UTC'))
  if (!month) throw new Exit(exitCodes.usage, `--month ${options.month}: expected a month such as 2026-11`)
  await withStorage(options.config, async (storage, { currency, organization }) => {
    const found = await withProgress('reading the ledger', async () => storage.books.statement({ ...month, ...labels }))
    const accounts = options.balances ? [] : accountsOf(found, { user, group })
    const balances = isOfLabel(labels) ? [] : balancesOf(found.balances, { user, group })
    if (user !== undefined && accounts.length + balances.length === 0) await needSomebody(storage, user)
    const split = await splitStatement(storage, month, { by, user, group })
    const differences = differencesOf(found)
    const reconciliation =
      differences.length > 0 ? 'NOT reconciled' : `reconciled: ${countOf(found.counted.charges, 'charge')}`
    const shown = { accounts, balances, currency, organization, split, labels }
    if (format === 'json') print(JSON.stringify(showStatement(month, found, { ...shown, now: Date.now() })))
    else if (format === 'html')
      process.stdout.write(statementPage(month, accounts, reconciliation, { ...shown, now: Date.now() }))
    else if (format === 'csv') {
      const table = options.balances
        ? balanceTable(month.month, currency, balances)
        : split
          ? splitTable(month.month, split)
          : statementTable(month, accounts)
      for (const line of table) print(line)
    } else {
      for (const note of labelNote(labels)) print(`${safeLine(note)}\n`)
      if (accounts.length > 0) print(formatAccounts(month, accounts))
      if (accounts.length > 1) print(formatTotals(month, accounts))
      if (split && split.rows.length > 0) print(formatSplit(month, split))
      if (balances.length > 0) print(formatBalances(month, currency, balances))
    }
    if (options.balances && balances.length === 0) say('there are no prepaid balances')
    if (!options.balances && accounts.length === 0)
      say(isOfLabel(labels) ? 'no such charges up to the end of that month' : 'no charges up to the end of that month')
    if (month.until > Date.now()) say(`${month.month} has not ended yet; more charges may follow`)
    if (differences.length > 0) throw new Exit(exitCodes.failure, [reconciliation, ...differences].join('\n'))
    say(reconciliation)
  })
}

/** The ledger still has the names of erased users. @throws Exit 2 for a name that no user has or had */
async function needSomebody({ users, books }: Storage, user: string): Promise<void> {
  if (await users.find(user)) return
  const all = await books.statement({ from: 0, until: Date.now() })
  if (accountsOf(all, { user }).length + balancesOf(all.balances, { user }).length === 0)
    throw new Exit(exitCodes.usage, `there is no user '${user}' (tollgate users list)`)
}

function formatBalances({ month }: StatementMonth, currency: string, balances: readonly StatementBalance[]): string {
  const rows = balances.map(({ user, group, opening, toppedUp, charged, refunded, closing }) => [
    user,
    group,
    ...[opening, toppedUp, charged, refunded, closing].map(micros => formatMoney(micros)),
  ])
  const table = formatTable(
    ['USER', 'GROUP', 'OPENING', 'PAID IN', 'CHARGED', 'REFUNDED', 'CLOSING'],
    rows.map(row => row.map(safeLine)),
  )
  return `\n${month}  prepaid balances in ${currency}\n\n${table}`
}

function formatTotals({ month }: StatementMonth, accounts: readonly StatementAccount[]): string {
  const rows = totalsOfAccounts(accounts).map(one => [
    one.currency,
    ...[one.opening, one.charged, one.refunded, one.closing].map(micros => formatMoney(micros)),
  ])
  return `\n${month}  total\n\n${formatTable(['CURRENCY', 'OPENING', 'CHARGED', 'REFUNDED', 'CLOSING'], rows)}`
}

function formatSplit({ month }: StatementMonth, split: StatementSplit): string {
  const rows = showSplit(split).map(({ label, currency, charges, charged, refunded, costs }) =>
    [label ?? '(without label)', currency, String(charges), charged, refunded, costs].map(safeLine),
  )
  const isTag = split.by === 'tag'
  const table = formatTable([isTag ? 'TAG' : 'END USER', 'CURRENCY', 'CHARGES', 'CHARGED', 'REFUNDED', 'COSTS'], rows)
  return `\n${month}  by ${isTag ? 'tag' : 'end user'}\n\n${table}\n\n${splitNote(split)}`
}

function formatAccounts({ month }: StatementMonth, accounts: readonly StatementAccount[]): string {
  const tables = accounts.map(({ user, group, currency, opening, charged, refunded, closing, lines }) => {
    const rows = lines.map(one => [
      one.model,
      one.tier,
      String(one.images),
      String(one.quantity),
      formatMoney(one.charged),
      formatMoney(one.refunded),
    ])
    const table = formatTable(
      ['MODEL', 'TIER', 'IMAGES', 'QUANTITY', 'CHARGED', 'REFUNDED'],
      rows.map(row => row.map(safeLine)),
    )
    const sums = `opening ${formatMoney(opening)}, charged ${formatMoney(charged)}, refunded ${formatMoney(refunded)}, closing ${formatMoney(closing)} ${currency}`
    return `${safeLine(`${month}  ${user} in group ${group}: ${sums}`)}\n\n${table}`
  })
  return tables.join('\n\n')
}
