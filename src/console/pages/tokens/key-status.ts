import type { Key } from '../../api/shapes.ts'

/** What is shown of a key's state: one whose time is over is `expired`, one that may spend nothing more is spent. */
export function keyStatus(key: Key): string {
  if (key.status !== 'active') return key.status
  if (key.expires && Date.parse(key.expires) <= Date.now()) return 'expired'
  return key.tightest && Number(key.tightest.left) === 0 ? 'budget_spent' : 'active'
}
