import { formatMoney, type Micros } from '../util/units.ts'
import { formatIn } from '../util/zoned-time.ts'
import type { StatementBalance } from './statement-balance.ts'
import { costsOfMonth, totalsOfAccounts } from './statement-total.ts'
import type { StatementAccount } from './statement-account.ts'
import { labelNote, showSplit, splitNote, type StatementSplit } from './statement-labels.ts'
import type { StatementMonth } from './statement.ts'
import type { StatementLabels } from './statement-labels.ts'

/** Escapes text for a page. */
function escapeHtml(text: string): string {
  const names: { readonly [char: string]: string } = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }
  return text.replaceAll(/[&<>"']/g, char => `&${names[char]};`)
}

const style = `body{font:11pt/1.45 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .3rem}p{margin:.2rem 0;color:#444}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.sum td{font-weight:600;border-top:2px solid #111}
@media print{body{margin:0;max-width:none}section{break-inside:avoid}thead{display:table-header-group}}@page{margin:18mm}`

/** Creates a printable page: without scripts and external resources, and with all text escaped. */
export function statementPage(
  { month, zone, from, until }: StatementMonth,
  accounts: readonly StatementAccount[],
  reconciliation: string,
  more: {
    readonly currency: string
    readonly balances: readonly StatementBalance[]
    readonly organization: string | undefined
    readonly split: StatementSplit | undefined
    readonly labels: StatementLabels
    readonly now: number
  },
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
<tr><td colspan="5">Cumulative before</td>${money(opening)}</tr>
<tr class="sum"><td colspan="5">Cumulative after</td>${money(closing)}</tr></tbody></table></section>`
  })
  const totals = totalsOfAccounts(accounts).map(total => {
    const { currency, opening, charges, charged, refunds, refunded, closing, refundedEarlier, refundedLater } = total
    const rows: readonly (readonly [name: string, amount: Micros, isSum?: true])[] = [
      ['Cumulative before', opening],
      [`Charged (${charges})`, charged],
      [`Refunded (${refunds})`, -refunded],
      ['Cumulative after', closing, true],
      ['Charged less refunded in the month', charged - refunded],
      ['Refunds of the month for earlier charges', refundedEarlier],
      ['Refunds given later for charges of the month', -refundedLater],
      ['Costs of the month (refunds count in the month of their charge)', costsOfMonth(total), true],
    ]
    return `<section><h2>Total</h2>
<p>Amounts in ${escapeHtml(currency)}</p>
<table><tbody>${rows.map(([name, amount, isSum]) => `<tr${isSum ? ' class="sum"' : ''}>${cell(name)}${money(amount)}</tr>`).join('\n')}</tbody></table></section>`
  })
  const balanceSection = (): string => {
    const { currency, balances } = more
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
${more.organization === undefined ? '' : `<p>${escapeHtml(more.organization)}</p>\n`}<p>${formatIn(zone, from)} until ${formatIn(zone, until)} (${escapeHtml(zone)}), issued ${formatIn(zone, more.now)}</p>
${labelNote(more.labels)
  .map(note => `<p>${escapeHtml(note)}</p>\n`)
  .join('')}<p>${escapeHtml(reconciliation)}</p>
${totals.join('\n')}
${sections.join('\n')}${more.split ? splitSection(more.split) : ''}${balanceSection()}
</body></html>
`
}

function splitSection(split: StatementSplit): string {
  const rows = showSplit(split).map(({ label, currency, charges, charged, refunded, costs }) => {
    const name = label === null ? '<em>without label</em>' : escapeHtml(label)
    const numbers = [String(charges), charged, refunded, costs].map(value => `<td class="n">${value}</td>`)
    return `<tr><td>${name}</td><td>${escapeHtml(currency)}</td>${numbers.join('')}</tr>`
  })
  return `
<section><h2>By ${split.by === 'tag' ? 'tag' : 'end user'}</h2>
<p>${splitNote(split)}</p>
<table><thead><tr><th>${split.by === 'tag' ? 'Tag' : 'End user'}</th><th>Currency</th><th class="n">Charges</th><th class="n">Charged</th><th class="n">Refunded</th><th class="n">Costs</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></section>`
}
