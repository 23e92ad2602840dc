import type { Key } from '../../api/shapes.ts'

/** The shown state of a key: `expired` after its expiry, spent if nothing is left to spend. */
export function keyStatus(key: Key): string {
  if (key.status !== 'active') return key.status
  if (key.expires && Date.parse(key.expires) <= Date.now()) return 'expired'
  return key.tightest && Number(key.tightest.left) === 0 ? 'budget_spent' : 'active'
}
