import type { Role, User } from '../domain/index.ts'

/** Duties at the console, and the roles that have them: every endpoint names its duty. */
export const duties = {
  /** Every signed-in user: prices, their own data, their password. */
  user: ['user', 'viewer', 'billing', 'admin'],
  /** Creates keys and uses them. Viewers and billing users have no costs. */
  keys: ['user', 'admin'],
  /** Reads the requests, charges, keys and users of all users. */
  readers: ['viewer', 'billing', 'admin'],
  /** Reads the configuration and the state of the gateway, without secrets. */
  operators: ['viewer', 'admin'],
  /** Gives refunds and decides reviews. */
  money: ['billing', 'admin'],
  admin: ['admin'],
} as const satisfies { readonly [duty: string]: readonly Role[] }

export type Duty = keyof typeof duties

/** Who may call an endpoint: anyone, or users with a duty. */
export type Access = 'anyone' | Duty

export function may({ role }: Pick<User, 'role'>, duty: Duty): boolean {
  return (duties[duty] as readonly Role[]).includes(role)
}

/** All duties of a user, so that pages show only those. */
export function dutiesOf(user: Pick<User, 'role'>): readonly Duty[] {
  return (Object.keys(duties) as Duty[]).filter(duty => may(user, duty))
}
