import { type CostPairOf, formatMoney, type WhatIf } from '../index.ts'
import { countOf } from './count-of.ts'
import { print, say } from './exit.ts'
import { formatTable } from './table.ts'
import { safeLine } from './safe-text.ts'

/** The maximum number of printed rows of each kind; JSON has more. */
const rowsMax = 20

/** Reasons why charges are left out; FILE is the configuration with the new prices. */
const reasons: { readonly [reason in WhatIf['notComparable'][number]['reason']]: string } = {
  model_gone: 'FILE has no such model',
  group_gone: 'FILE has no such group',
  other_currency: 'charged in another currency',
  charged_otherwise: 'the model would be charged by a different unit',
  measure_not_kept: 'the new prices depend on request data that was not stored',
  refused: 'such requests would be refused',
  decided: 'the amount was decided by a person',
  refunded_in_part: 'part of it was refunded',
  not_reproducible: 'the stored data does not yield the amount',
  open: 'not settled yet',
}

/**
 * Prints charges at other prices: tables of models, groups and users, the sums, and the charges that were not
 * compared.
 */
export function printCosts(costs: WhatIf, file: string): void {
  const { charges, before, after, currency, notComparable, uncounted } = costs
  for (const [heading, rows] of [
    ['MODEL', costs.byModel],
    ['GROUP', costs.byGroup],
    ['USER', costs.byUser],
  ] as const)
    if (rows.length > 0) print(`${tableOf(heading, rows)}\n`)
  print(
    `${countOf(charges, 'charge')}: ${formatMoney(before)} ${currency} as charged, ${formatMoney(after)} by ${file}`,
  )
  print(`difference ${changeOf(before, after)} ${currency}`)
  for (const { reason, model, currency: own, charges: count, cost } of notComparable.slice(0, rowsMax))
    print(
      safeLine(
        `not compared: ${countOf(count, 'charge')} of ${model ?? 'other models'}, ${formatMoney(cost)} ${own}: ${reasons[reason].replace('FILE', () => file)}`,
      ),
    )
  const more = notComparable.slice(rowsMax)
  if (more.length > 0) {
    const charges = more.reduce((sum, one) => sum + one.charges, 0)
    print(`not compared: ${countOf(charges, 'charge')} more; --format json has the reasons`)
  }
  if (uncounted.length > 0) say(`not counted, because they are free now and have no charges: ${namesOf(uncounted)}`)
}

function namesOf(models: readonly string[]): string {
  const names = safeLine(models.slice(0, rowsMax).join(', '))
  return models.length > rowsMax ? `${names}, and ${models.length - rowsMax} more` : names
}

function tableOf(heading: string, rows: readonly CostPairOf[]): string {
  const cells = rows
    .slice(0, rowsMax)
    .map(({ name, charges, before, after }) => [
      name ?? 'others',
      String(charges),
      formatMoney(before),
      formatMoney(after),
      changeOf(before, after),
    ])
  return formatTable(
    [heading, 'CHARGES', 'AS CHARGED', 'WOULD BE', 'DIFFERENCE'],
    cells.map(row => row.map(safeLine)),
  )
}

/** An amount with its sign, including a plus: a minus alone is easily missed. */
function changeOf(before: number, after: number): string {
  return after > before ? `+${formatMoney(after - before)}` : formatMoney(after - before)
}
