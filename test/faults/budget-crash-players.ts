import type { Level } from '../../src/domain/index.ts'

/** The zone of budgets' days and months: in the night of 2027-10-31 its clocks are put back. */
export const zone = 'Europe/Berlin'
export const begins = Date.UTC(2027, 9, 30, 20)
export const ends = Date.UTC(2027, 10, 1, 2)
export const paidIn = 6_000

/** The settings of a process. */
export type Given = {
  readonly url: string
  readonly role: 'gateway' | 'worker'
  readonly seed: number
  /** Concurrent requests. */
  readonly parallel: number
  /** The shift of its clock in milliseconds. */
  readonly shift: number
  /** Ids of the keys that it sells to. */
  readonly keys: readonly string[]
}

/** Every kind of budget next to a key's. The members of `free` have none. */
export function levelsOf(user: string, group: string): readonly Level[] {
  if (group === 'free') return []
  return [
    user === 'ben'
      ? { kind: 'user', name: user, amount: 4_000, per: 'day' }
      : { kind: 'user', name: user, amount: 9_000, per: 'month' },
    ...(user === 'anna' ? [{ kind: 'balance', name: user, amount: paidIn, per: 'total' } as const] : []),
    { kind: 'group', name: group, amount: 6_000, per: 'day' },
  ]
}
