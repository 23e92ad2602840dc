import type { Awaitable } from '../util/awaitable.ts'
import { type Role, roles } from './shapes/user.ts'

/** The permissions of a token, within its role. Every request that only reads needs `read`. */
export const adminScopes = ['read', 'keys', 'people', 'money', 'config'] as const

export type AdminScope = (typeof adminScopes)[number]

/** A token sees the data of all users and has none of its own, so the role `user` would allow it nothing. */
export const adminTokenRoles = roles.filter(role => role !== 'user')

/** A secret with which a program uses the API for administrators. Only its hash is stored. */
export type AdminToken = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly scopes: readonly AdminScope[]
  /** Addresses and CIDR blocks from which it is accepted; null for all. */
  readonly ips: readonly string[] | null
  /** The first characters and the last four of the secret, so that people can recognise it. */
  readonly hint: string
  /** The creator: a user's name, or `command line`. */
  readonly by: string
  readonly createdAt: number
  /** Null: it does not expire. */
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
}

export type NewAdminToken = Pick<AdminToken, 'name' | 'role' | 'scopes' | 'ips' | 'hint' | 'expiresAt'> & {
  /** Hex SHA-256 of the secret. */
  readonly hash: string
}

/** The actor of a token in the audit log. No user has such a name, because user names contain no spaces. */
export function actorOfToken({ name }: Pick<AdminToken, 'name'>): string {
  return `token ${name}`
}

/**
 * Stores admin tokens. A token is valid until it is revoked, it expires, or its creator is no longer an active
 * administrator. Tokens of the command line have no such creator.
 */
export type AdminTokenStore = {
  /** @throws StorageError `token_exists`, `name_unprintable` */
  create(token: NewAdminToken, by: string): Awaitable<AdminToken>
  /** Undefined if no valid token has the hash. */
  find(hash: string): Awaitable<AdminToken | undefined>
  /** Valid ones, newest first. */
  list(): Awaitable<readonly AdminToken[]>
  /** By its id or name. @returns the revoked token; undefined if there is none */
  revoke(idOrName: string, by: string): Awaitable<AdminToken | undefined>
  /** Records a use of the token now. */
  touch(id: string): Awaitable<void>
}
