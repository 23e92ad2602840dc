import { costParts } from '../../kit/costs.ts'
import { ask, lockRows, type QueryProgram, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { addPlaces, openChains } from './places.ts'
import { columnOf, countNames, CostSums, type Counts, sumColumns } from './sums.ts'

/** One at a time: others wait for this row. */
const wait = `SELECT value FROM meta WHERE name = 'costed' ${lockRows}`
const moveOn = `INSERT INTO cost_chain (chain, position) VALUES (?, ?)
  ON CONFLICT (chain) DO UPDATE SET position = excluded.position`

const partNames = ['part', 'quarter', 'what', 'currency']
const addSum = addTo('cost_sum', sumColumns)
const addPart = addTo('cost_part', partNames)

/**
 * Adds up what stands next in one chain of the ledger. How far it has come is written with the sums: nothing counts twice, and
 * whoever reads takes what is behind that place from the ledger itself.
 * @returns how many charges; 0 when there is nothing left to do
 */
export function* addUpCosts(): QueryProgram<number> {
  yield ask(wait)
  for (const row of yield ask(openChains)) {
    const [chain, from, last] = [text(row, 'id'), whole(row, 'upto'), whole(row, 'last')]
    const sums = new CostSums()
    const { upto, charges } = yield* addPlaces(sums, chain, from, last)
    yield ask(moveOn, chain, upto)
    yield* write(sums)
    return Math.max(charges, 1)
  }
  return 0
}

function* write(sums: CostSums): QueryProgram<void> {
  const parts = new Map<string, { readonly place: readonly Value[]; readonly counts: Counts }>()
  for (const { place, counts } of sums.inOrder()) {
    yield ask(addSum, ...sumColumns.map(name => place[name]), ...countNames.map(name => counts[name]))
    for (const part of ['', ...costParts] as const) {
      const own = [part, place.quarter, part === '' ? '' : place[columnOf[part]], place.currency]
      const name = JSON.stringify(own)
      const known = parts.get(name)?.counts
      // A charge is one of each part that it has, and one of each of its tiers.
      const charges = part === 'tier' ? counts.charges : counts.firsts
      const added = { ...counts, charges }
      parts.set(name, { place: own, counts: known ? plus(known, added) : added })
    }
  }
  for (const [, { place, counts }] of [...parts].sort(([a], [b]) => (a < b ? -1 : 1)))
    yield ask(addPart, ...place, ...countNames.map(name => counts[name]))
}

function plus(a: Counts, b: Counts): Counts {
  const both = { ...a }
  for (const name of countNames) both[name] = a[name] + b[name]
  return both
}

function addTo(table: string, names: readonly string[]): string {
  const columns = [...names, ...countNames]
  const sums = countNames.map(name => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${names.join(', ')}) DO UPDATE SET ${sums.join(', ')}`
}
