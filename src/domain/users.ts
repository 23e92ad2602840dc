import type { Awaitable } from '../util/awaitable.ts'
import type { WaysIn } from './sign-in.ts'
import type { Erasure, Traces } from './erasure.ts'
import type { User, UserSettings } from './shapes/user.ts'
import type { Micros } from '../util/units.ts'

/** The validity of the link for the first administrator, in milliseconds. */
export const setupOfferMs = 24 * 3_600_000

export type NewUser = {
  readonly name: string
  readonly group: string
  readonly role: User['role']
  readonly passwordHash: string | null
}

export type UserChange = Partial<UserSettings>

/** A payment into a user's prepaid balance. */
/** The total of earlier top-ups, if it is not the expected one. */
export type TopUpChanged = { readonly id?: undefined; readonly paidIn: Micros }

export type TopUp = {
  readonly id: string
  readonly amount: Micros
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly note: string | null
}

/** A selection of users, by name: all of them may be very many. */
export type UserFilter = {
  /** A part of the name or of the group's name, case-insensitive. */
  readonly search?: string
  readonly limit: number
  /** The name of the last user of the previous page. */
  readonly after?: string
}

export type UserTotals = { readonly count: number; readonly active: number }

/** Stores users. Every change names its actor and writes a row of the audit log in the same transaction. */
export type UserStore = {
  /** @throws StorageError `user_exists` */
  create(user: NewUser, by?: string): Awaitable<void>
  find(name: string): Awaitable<User | undefined>
  /** The password's hash; undefined if there is no such user or no password. */
  passwordHash(name: string): Awaitable<string | undefined>
  /** By name; all of them without a filter. */
  list(filter?: UserFilter): Awaitable<readonly User[]>
  totals(): Awaitable<UserTotals>
  /** A user who is disabled or gets another role loses all sessions. Undefined if there is no such user. */
  change(name: string, change: UserChange, by: string, ways?: WaysIn): Awaitable<User | undefined>
  /** The data that an erasure would cover. Undefined if there is no such user. */
  traces(name: string): Awaitable<Traces | undefined>
  /**
   * Erases a user: disables the user and revokes the keys; then, once none of their requests runs, deletes all their
   * data or gives it a pseudonym, except data that the ledger's hashes cover. An interrupted erasure may be repeated.
   * Undefined if there is no such user, and the ledger knows none.
   * @throws StorageError `erase_busy`, `erases_self`, `erases_local`, `last_admin`
   */
  erase(name: string, by: string, ways?: WaysIn): Awaitable<Erasure | undefined>
  /**
   * Tops up a user's balance. From then on, requests of the user need a balance. Undefined if there is no such user.
   * `expected`: the total of earlier top-ups, without which nothing is added.
   */
  topUp(
    name: string,
    amount: Micros,
    note: string | null,
    by: string,
    expected?: Micros,
  ): Awaitable<TopUp | TopUpChanged | undefined>
  /** Top-ups, newest first. */
  topUps(name: string): Awaitable<readonly TopUp[]>
  /**
   * Ends the user's sessions except `keep`, which makes the change. False when there is no such user, or when `keep`
   * has ended.
   */
  setPassword(name: string, passwordHash: string, by?: string, keep?: string): Awaitable<boolean>
  /** Whether an administrator exists who can sign in by one of these ways; by default with a password. */
  hasAdmin(ways?: WaysIn): Awaitable<boolean>
  /** Stores an offer: with its token, a person may create the first administrator. It is void once there is one. */
  offerSetup(tokenHash: string, expiresAt: number): Awaitable<void>
  /**
   * Creates the first administrator, once: of concurrent calls one succeeds. An existing user of that name becomes the
   * administrator. `unknown`: there is no such offer, or it has expired; `done`: there already is an administrator.
   */
  claimSetup(claim: {
    readonly tokenHash: string
    readonly name: string
    readonly group: string
    readonly passwordHash: string
    /** As in `hasAdmin`. */
    readonly ways?: WaysIn
  }): Awaitable<'claimed' | 'unknown' | 'done'>
}

/** A person's session in the console. Only the browser has the token; the store has its hash. */
export type Session = {
  /** Hex SHA-256 of the token. */
  readonly hash: string
  readonly user: string
  readonly createdAt: number
  readonly seenAt: number
  /** The end of the session, whether it is used or not. */
  readonly expiresAt: number
  /** The browser's user agent, at most 200 characters. */
  readonly agent: string
  readonly remote: string
}

export type SessionStore = {
  /**
   * Begins a session. `passwordHash` is the hash of the password that was checked for it. False if the user is not
   * active, or has another password by now.
   */
  create(session: Session, passwordHash?: string): Awaitable<boolean>
  /** The session and its user; undefined if it has ended or expired, or the user is disabled. */
  find(hash: string): Awaitable<{ readonly session: Session; readonly user: User } | undefined>
  /** Records a use of the session now. */
  touch(hash: string): Awaitable<void>
  end(hash: string): Awaitable<void>
  /** Newest first. */
  list(user: string): Awaitable<readonly Session[]>
}

/** A change by a person or a command: of a key, a user, a role, money, the configuration. */
export type TrailRow = {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** A user's name, `command line`, `gateway`, or `issuer` and its name for a change by a sign-in. */
  readonly actor: string
  /**
   * `key.create`, `key.change`, `key.rotate`, `key.revoke`, `user.create`, `user.change`, `user.password`,
   * `user.link`, `invitation.use`, `charge.refund` …
   */
  readonly action: string
  /** The id or name of the changed object. */
  readonly subject: string
  /** The old and the new values of the changed fields. */
  readonly before: { readonly [field: string]: unknown } | null
  readonly after: { readonly [field: string]: unknown } | null
  readonly reason: string | null
}

export type TrailFilter = {
  readonly limit: number
  /** The id of the last row of the previous page. */
  readonly before?: string
  readonly actor?: string
  readonly subject?: string
  /** An action, or the part before its dot. */
  readonly action?: string
  /** From `since` (inclusive) to `until` (exclusive), in milliseconds since the epoch. */
  readonly since?: number
  readonly until?: number
}

export type TrailCount = { readonly action: string; readonly rows: number }

/** The audit log. Rows are kept forever. */
export type Trail = {
  /** Records an event that is no change of the stores: a login, a reload. */
  note(row: Omit<TrailRow, 'id' | 'at'>): Awaitable<void>
  /** Newest first. */
  list(filter: TrailFilter): Awaitable<readonly TrailRow[]>
  /** The number of matching rows by action, highest first; counts at most 10,000 rows. */
  count(filter: Omit<TrailFilter, 'limit' | 'before'>): Awaitable<readonly TrailCount[]>
}
