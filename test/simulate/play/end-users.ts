import { Random } from '../world/random.ts'
import type { Wish } from './asks.ts'

/** Keys of the group whose end users have limits and budgets. */
const teamKeys = [6, 7] as const
const names = ['ann', 'ben', 'cas', undefined] as const

/** The end user that a caller names; undefined for none. */
export function endUserOf({ seed, key }: Pick<Wish, 'seed' | 'key'>): string | undefined {
  return teamKeys.some(one => one === key) ? names[seed % names.length] : undefined
}

/** In some seeds callers of the group name end users. A random stream of its own keeps other seeds unchanged. */
export function hasEndUsers(seed: number): boolean {
  return new Random(seed, 'end users').chance(0.25)
}

/** Most requests of such a seed use keys of that group, so that there are many. */
export function askForEndUsers<O extends { readonly wish: Wish }>(
  seed: number,
  operations: readonly O[],
): readonly O[] {
  const random = new Random(seed, 'asks for end users')
  return operations.map(operated =>
    random.chance(0.6) ? { ...operated, wish: { ...operated.wish, key: random.pick(teamKeys) } } : operated,
  )
}
