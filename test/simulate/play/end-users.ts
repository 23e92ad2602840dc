import { Random } from '../world/random.ts'
import type { Wish } from './asks.ts'

/** Keys of the group whose end users have limits and budgets. */
const teamKeys = [6, 7] as const
const names = ['ann', 'ben', 'cas', undefined] as const

/** For whom a caller asks; undefined for nobody that it names. */
export function endUserOf({ seed, key }: Pick<Wish, 'seed' | 'key'>): string | undefined {
  return teamKeys.some(one => one === key) ? names[seed % names.length] : undefined
}

/** In some seeds callers of the group ask for end users. Drawn by a stream of its own: other seeds are as they were. */
export function hasEndUsers(seed: number): boolean {
  return new Random(seed, 'end users').chance(0.25)
}

/** So that they are many, most requests of such a seed are made with keys of that group. */
export function askForEndUsers<O extends { readonly wish: Wish }>(
  seed: number,
  operations: readonly O[],
): readonly O[] {
  const random = new Random(seed, 'asks for end users')
  return operations.map(operated =>
    random.chance(0.6) ? { ...operated, wish: { ...operated.wish, key: random.pick(teamKeys) } } : operated,
  )
}
