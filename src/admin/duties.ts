import type { Role, User } from '../domain/index.ts'

/** What people do at the console, and who may: every endpoint names the duty that it is part of. */
export const duties = {
  /** Every signed-in user: prices, their own data, their password. */
  user: ['user', 'viewer', 'billing', 'admin'],
  /** Makes keys and uses them: readers and accountants do not spend. */
  keys: ['user', 'admin'],
  /** Sees the requests, charges, keys and users of all users. */
  readers: ['viewer', 'billing', 'admin'],
  /** Sees how the gateway is set up and how it is, its secrets left out. */
  operators: ['viewer', 'admin'],
  /** Gives money back and decides what is under review. */
  money: ['billing', 'admin'],
  admin: ['admin'],
} as const satisfies { readonly [duty: string]: readonly Role[] }

export type Duty = keyof typeof duties

/** Who may call it: everyone, or users with a duty. */
export type Access = 'anyone' | Duty

export function may({ role }: Pick<User, 'role'>, duty: Duty): boolean {
  return (duties[duty] as readonly Role[]).includes(role)
}

/** All duties of a user, for pages that show no more. */
export function dutiesOf(user: Pick<User, 'role'>): readonly Duty[] {
  return (Object.keys(duties) as Duty[]).filter(duty => may(user, duty))
}
