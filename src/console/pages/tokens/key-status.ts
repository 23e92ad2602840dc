import type { Key } from '../../api/shapes.ts'

/** What is shown of a key's state: one whose time is over is `expired`, whatever is stored. */
export function keyStatus(key: Key): string {
  return key.status === 'active' && key.expires && Date.parse(key.expires) <= Date.now() ? 'expired' : key.status
}
