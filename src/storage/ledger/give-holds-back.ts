import { ask, type Rows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

/** Of rows with `key_id` and `hold`. In the order of the keys' ids: two that lock the same keys do so in the same order. */
export function* giveHoldsBack(charges: Rows): QueryProgram<void> {
  const holds = new Map<string, number>()
  for (const charge of charges) {
    const key = text(charge, 'key_id')
    holds.set(key, (holds.get(key) ?? 0) + whole(charge, 'hold'))
  }
  for (const [key, held] of [...holds].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (held > 0) yield ask('UPDATE key SET held = held - ? WHERE id = ?', held, key)
}
