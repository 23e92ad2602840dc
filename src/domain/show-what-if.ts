import { formatMoney } from '../util/units.ts'
import type { CostPair, CostPairOf, NotComparable, WhatIf } from './what-if.ts'

/** The maximum number of rows of one kind; the rest is combined. */
const rowsMax = 200

/** The JSON form of a cost comparison: money as text, times as ISO 8601. */
export function showWhatIf(costs: WhatIf) {
  const { since, until, currency, byModel, byGroup, byUser, notComparable, uncounted } = costs
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    currency,
    ...showPair(costs),
    by_model: showRows(byModel),
    by_group: showRows(byGroup),
    by_user: showRows(byUser),
    not_comparable: showLeft(notComparable),
    uncounted: uncounted.slice(0, rowsMax),
  }
}

function showPair({ charges, before, after }: CostPair) {
  return { charges, before: formatMoney(before), after: formatMoney(after), difference: formatMoney(after - before) }
}

/** Limits the rows: further rows with the same reason and currency become one row, whose model is null. */
function showLeft(left: readonly NotComparable[]) {
  const isShown = ({ model }: NotComparable, i: number): boolean => model !== null && i < rowsMax
  const rest = Map.groupBy(
    left.filter((row, i) => !isShown(row, i)),
    ({ reason, currency }) => JSON.stringify([reason, currency]),
  )
  const others = [...rest.values()].flatMap(([first, ...same]) =>
    first
      ? same.reduce((all, { charges, cost }) => ({ ...all, charges: all.charges + charges, cost: all.cost + cost }), {
          ...first,
          model: null,
        })
      : [],
  )
  const all: readonly NotComparable[] = [...left.filter(isShown), ...others]
  return all.map(({ cost, ...row }) => ({ ...row, cost: formatMoney(cost) }))
}

/** Limits the rows: those with the smallest changes become one row, whose name is null. */
function showRows(rows: readonly CostPairOf[]) {
  const isShown = ({ name }: CostPairOf, i: number): boolean => name !== null && i < rowsMax
  const shown = rows.filter(isShown)
  const rest = rows.filter((row, i) => !isShown(row, i))
  const others = { name: null, charges: 0, before: 0, after: 0 }
  for (const { charges, before, after } of rest) {
    others.charges += charges
    others.before += before
    others.after += after
  }
  const all: readonly CostPairOf[] = rest.length === 0 ? shown : [...shown, others]
  return all.map(row => ({ name: row.name, ...showPair(row) }))
}
