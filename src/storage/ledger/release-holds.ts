import { type LevelKind, levelKinds } from '../../domain/budget.ts'
import { releaseLevel } from '../accounts/hold.ts'
import { heldLevels, nameOf } from '../accounts/levels.ts'
import { ask, type Rows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/**
 * Releases the holds of charges, given as rows with `payerColumns` and `hold`: first of keys in the order of their
 * ids, then of accounts, so that two transactions cannot deadlock.
 */
export function* releaseHolds(charges: Rows): QueryProgram<void> {
  const holds = new Map<string, number>()
  const levels = new Map<LevelKind, Map<string, number>>(levelKinds.map(kind => [kind, new Map()]))
  for (const charge of charges) {
    const hold = whole(charge, 'hold')
    add(holds, text(charge, 'key_id'), hold)
    for (const kind of heldLevels(charge)) add(levels.get(kind) as Map<string, number>, nameOf(charge, kind), hold)
  }
  for (const [key, held] of inOrder(holds)) yield ask('UPDATE key SET held = held - ? WHERE id = ?', held, key)
  for (const [kind, ofKind] of levels) for (const [name, held] of inOrder(ofKind)) yield releaseLevel(kind, name, held)
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount)
}

function inOrder(sums: ReadonlyMap<string, number>): readonly (readonly [name: string, sum: number])[] {
  return [...sums].filter(([, sum]) => sum > 0).sort(([a], [b]) => (a < b ? -1 : 1))
}
