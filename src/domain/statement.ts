import { csvLine } from '../util/csv.ts'
import { balanceDifferences, moneyCell, type StatementBalance } from './statement-balance.ts'
import { formatMoney, type Micros } from '../util/units.ts'
import { dayIn, formatIn, momentIn } from '../util/zoned-time.ts'

/** What of one tier of one model was charged in a month, and given back. */
export type StatementLine = {
  readonly model: string
  readonly tier: string
  readonly images: number
  /** Of what the tier names, such as tokens. */
  readonly quantity: number
  readonly charged: Micros
  readonly refunded: Micros
}

/** What one user owes in one group and currency: before the month, of it, and after it. */
export type StatementAccount = {
  readonly user: string
  readonly group: string
  readonly currency: string
  readonly opening: Micros
  readonly charges: number
  readonly charged: Micros
  readonly refunds: number
  readonly refunded: Micros
  readonly closing: Micros
  readonly lines: readonly StatementLine[]
}

/** Charges and refunds of all currencies together, as they were counted. */
export type StatementTotals = {
  readonly charges: number
  readonly charged: Micros
  readonly refunds: number
  readonly refunded: Micros
}

/** What was booked between two moments, by who pays. */
export type Statement = {
  readonly accounts: readonly StatementAccount[]
  /** By charges and their lines, and by the entries of the ledger: two ways to one sum. */
  readonly counted: StatementTotals
  readonly booked: StatementTotals
  /** Of everybody for whom something was ever paid in, by name. */
  readonly balances: readonly StatementBalance[]
}

/** A month as a clock of a zone has it. */
export type StatementMonth = {
  readonly month: string
  readonly zone: string
  readonly from: number
  readonly until: number
}

/** Reads `2026-11`; undefined when it is no month. */
export function readMonth(text: string, zone: string): StatementMonth | undefined {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined || month === undefined) return undefined
  const first = { year: Number(year), month: Number(month), day: 1 }
  return { month: text, zone, from: momentIn(zone, first), until: momentIn(zone, { ...first, month: first.month + 1 }) }
}

/** The month before the one that is running, as a clock of a zone has both. */
export function lastMonth(zone: string, now: number): StatementMonth {
  const { year, month } = dayIn(zone, now)
  const [from, until] = [momentIn(zone, { year, month: month - 1, day: 1 }), momentIn(zone, { year, month, day: 1 })]
  return { month: formatIn(zone, from).slice(0, 7), zone, from, until }
}

/** What of the two sums does not agree, a sentence each; none when the statement is what the ledger says. */
export function differencesOf({ counted, booked, balances }: Statement): readonly string[] {
  const money = (micros: number): string => formatMoney(micros)
  const names: readonly (readonly [name: keyof StatementTotals, show: (value: number) => string])[] = [
    ['charges', String],
    ['charged', money],
    ['refunds', String],
    ['refunded', money],
  ]
  const sums = names.flatMap(([name, show]) =>
    counted[name] === booked[name]
      ? []
      : [`${name}: the charges come to ${show(counted[name])}, the ledger's entries to ${show(booked[name])}`],
  )
  return [...sums, ...balanceDifferences(balances)]
}

/** Accounts of one user or group alone. */
export function accountsOf(
  { accounts }: Statement,
  { user, group }: { readonly user?: string | undefined; readonly group?: string | undefined },
): readonly StatementAccount[] {
  return accounts.filter(one => (user ?? one.user) === one.user && (group ?? one.group) === one.group)
}

/** An account as programs read it: money as text. */
export function showAccount({ opening, charged, refunded, closing, lines, ...same }: StatementAccount) {
  return {
    ...same,
    opening: formatMoney(opening),
    charged: formatMoney(charged),
    refunded: formatMoney(refunded),
    closing: formatMoney(closing),
    lines: lines.map(line => ({ ...line, charged: formatMoney(line.charged), refunded: formatMoney(line.refunded) })),
  }
}

const headings = [
  'month',
  'user',
  'group',
  'currency',
  'model',
  'tier',
  'images',
  'quantity',
  'opening',
  'charged',
  'refunded',
  'closing',
]

/** A table for spreadsheets: a row for each line, and after them one for the account, which alone opens and closes. */
export function statementTable(month: StatementMonth, accounts: readonly StatementAccount[]): readonly string[] {
  const rows = accounts.flatMap(({ user, group, currency, lines, ...account }) => {
    const own = [month.month, user, group, currency]
    const { opening, charged, refunded, closing } = account
    return [
      ...lines.map(line => [
        ...own,
        line.model,
        line.tier,
        line.images,
        line.quantity,
        '',
        formatMoney(line.charged),
        formatMoney(line.refunded),
        '',
      ]),
      // Amounts below nothing begin with a minus, which is no formula here.
      [...own, '', '', '', '', ...[opening, charged, refunded, closing].map(moneyCell)],
    ]
  })
  return [headings, ...rows].map(csvLine)
}

/** Any text as text of a page. */
function escapeHtml(text: string): string {
  const names: { readonly [char: string]: string } = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }
  return text.replaceAll(/[&<>"']/g, char => `&${names[char]};`)
}

const style = `body{font:11pt/1.45 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .3rem}p{margin:.2rem 0;color:#444}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.sum td{font-weight:600;border-top:2px solid #111}
@media print{body{margin:0;max-width:none}section{break-inside:avoid}thead{display:table-header-group}}@page{margin:18mm}`

/** A page that can be printed: no script, nothing from elsewhere, every word as text. */
export function statementPage(
  { month, zone, from, until }: StatementMonth,
  accounts: readonly StatementAccount[],
  told: string,
  prepaid: { readonly currency: string; readonly balances: readonly StatementBalance[] },
): string {
  const cell = (value: string | number): string =>
    `<td${typeof value === 'number' ? ' class="n"' : ''}>${escapeHtml(String(value))}</td>`
  const money = (micros: Micros): string => `<td class="n">${formatMoney(micros)}</td>`
  const sections = accounts.map(({ user, group, currency, opening, charged, refunded, closing, lines }) => {
    const rows = lines.map(
      ({ model, tier, images, quantity, charged: own, refunded: back }) =>
        `<tr>${cell(model)}${cell(tier)}${cell(images)}${cell(quantity)}${money(own)}${money(back)}</tr>`,
    )
    return `<section><h2>${escapeHtml(user)} <small>in group ${escapeHtml(group)}</small></h2>
<p>Amounts in ${escapeHtml(currency)}</p>
<table><thead><tr><th>Model</th><th>Tier</th><th class="n">Images</th><th class="n">Quantity</th><th class="n">Charged</th><th class="n">Refunded</th></tr></thead>
<tbody>${rows.join('\n')}
<tr class="sum"><td colspan="4">Charged and refunded in the month</td>${money(charged)}${money(refunded)}</tr>
<tr><td colspan="5">Before the month</td>${money(opening)}</tr>
<tr class="sum"><td colspan="5">After the month</td>${money(closing)}</tr></tbody></table></section>`
  })
  const balanceSection = (): string => {
    const { currency, balances } = prepaid
    if (balances.length === 0) return ''
    const rows = balances.map(
      ({ user, group, opening, toppedUp, charged, refunded, closing }) =>
        `<tr>${cell(user)}${cell(group)}${[opening, toppedUp, charged, refunded, closing].map(money).join('')}</tr>`,
    )
    return `
<section><h2>Prepaid balances</h2>
<p>Amounts in ${escapeHtml(currency)}</p>
<table><thead><tr><th>User</th><th>Group</th><th class="n">Before</th><th class="n">Paid in</th><th class="n">Charged</th><th class="n">Refunded</th><th class="n">After</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></section>`
  }
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Statement ${escapeHtml(month)}</title><style>${style}</style></head><body>
<h1>Statement ${escapeHtml(month)}</h1>
<p>${formatIn(zone, from)} until ${formatIn(zone, until)} (${escapeHtml(zone)})</p>
<p>${escapeHtml(told)}</p>
${sections.join('\n')}${balanceSection()}
</body></html>
`
}
