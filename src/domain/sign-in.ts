import type { Awaitable } from '../util/awaitable.ts'
import type { Role, User } from './shapes/user.ts'

/** The maximum duration of a sign-in at an issuer, in milliseconds. */
export const loginMs = 10 * 60_000
/** The default validity of an invitation, and the maximum, in milliseconds. */
export const invitationMs = 3 * 86_400_000
export const invitationMsMax = 90 * 86_400_000

/** An issuer of identities, by OpenID Connect. */
export type Issuer = {
  /** Its name in the configuration; part of the address to which browsers return. */
  readonly name: string
  /** Its identifier, a URL: the `iss` of its tokens. */
  readonly url: string
  /** Its name in the console. */
  readonly label: string
  readonly clientId: string
  /** Undefined for a client without one, which proves itself by PKCE alone. */
  readonly clientSecret: string | undefined
  readonly clientAuth: 'basic' | 'post'
  readonly scopes: readonly string[]
  readonly allowHttp: boolean
  /** The claim that contains the groups for `roles` and `groups`: its name, or a path with dots. */
  readonly groupsClaim: string
  /** Roles by group; undefined if roles are assigned locally and not by an issuer. */
  readonly roles: ReadonlyMap<string, Role> | undefined
  /**
   * The role of users without a group in `roles`, and of new users if there are no `roles`; undefined: they are
   * refused.
   */
  readonly defaultRole: Role | undefined
  /**
   * The local group for each group of the issuer; the first match applies. Undefined if groups are assigned locally.
   */
  readonly groups: ReadonlyMap<string, string> | undefined
  /** The group of users without a group in `groups`, and of new users if there are no `groups`. */
  readonly group: string
  /** Whether a person whose verified e-mail equals a user's name is that user. */
  readonly matchesEmail: boolean
  /** Whether an unknown person becomes a user. */
  readonly allowsSignUp: boolean
  /** Domains of verified e-mails that may sign in; empty for all. */
  readonly emailDomains: readonly string[]
  /** The extent of signing out of the console: locally, or also the session at the issuer. */
  readonly signOut: 'here' | 'issuer'
}

/** The methods of sign-in for the console. */
export type SignInPlan = {
  /** Whether passwords are accepted. */
  readonly passwords: boolean
  readonly issuers: ReadonlyMap<string, Issuer>
}

/** The open methods of sign-in. An administrator who can use none of them does not count. */
export type WaysIn = { readonly passwords: boolean; readonly issuers: readonly string[] }

/** The identity of a person at an issuer. A subject is never given to another person; an e-mail may be. */
export type Identity = { readonly issuer: string; readonly subject: string }

export type IdentityLink = Identity & { readonly user: string; readonly createdAt: number }

/** An invitation: one person may become a user, once, with a secret token. */
export type Invitation = {
  readonly id: string
  /** The name of the new user; null if the person chooses it. */
  readonly name: string | null
  readonly role: Role
  readonly group: string
  readonly by: string
  readonly createdAt: number
  readonly expiresAt: number
}

export type NewInvitation = Pick<Invitation, 'name' | 'role' | 'group' | 'expiresAt'> & {
  /** Hex SHA-256 of the token. */
  readonly hash: string
}

/** A person who signs in for the first time. */
export type Newcomer = {
  readonly user: Pick<User, 'name' | 'group' | 'role'> & { readonly passwordHash: string | null }
  /** Their identity at an issuer; null for a person with a password. */
  readonly identity: Identity | null
  /** The hash of the invitation, which is used up; null for none. */
  readonly invitation: string | null
}

export type SignInStore = {
  /**
   * Stores the state that a browser must present when it returns from an issuer; if there are too many, the oldest is
   * dropped.
   */
  saveLogin(login: { readonly hash: string; readonly state: string; readonly expiresAt: number }): Awaitable<void>
  /** Returns the stored value once; undefined if the hash is unknown or has expired. */
  takeLogin(hash: string): Awaitable<string | undefined>
  find(identity: Identity): Awaitable<User | undefined>
  /**
   * Links an identity to a user. `taken`: it belongs to another user; `other`: with `alone`, the user has another
   * identity at this issuer; `unknown`: there is no such user.
   */
  link(
    identity: Identity,
    user: string,
    by: string,
    alone?: boolean,
  ): Awaitable<'linked' | 'taken' | 'other' | 'unknown'>
  links(user: string): Awaitable<readonly IdentityLink[]>
  /**
   * Unlinks identities of a user, all of them or one; returns the number. With `keepWayIn`, the only way to sign in is
   * kept. Without `ways`, every password and every link is a way.
   * @throws StorageError `last_admin`
   */
  unlink(
    user: string,
    which: Identity | undefined,
    by: string,
    how?: { readonly keepWayIn?: boolean; readonly ways?: WaysIn },
  ): Awaitable<number>
  /**
   * Creates a user. `uninvited`: the invitation is used up or has expired, or its author has lost the right to invite;
   * `taken`: the identity already belongs to another user.
   * @throws StorageError `user_exists`, `name_alike`: the invitation is not used up
   */
  admit(newcomer: Newcomer, by: string): Awaitable<'admitted' | 'uninvited' | 'taken'>
  /** Ends all sessions of a user, and revokes the keys of these sessions. */
  endSessions(user: string): Awaitable<void>
  invite(invitation: NewInvitation, by: string): Awaitable<Invitation>
  /** By the hash of its token; undefined if it is not valid. */
  invitation(hash: string): Awaitable<Invitation | undefined>
  /** Valid ones, newest first. */
  invitations(): Awaitable<readonly Invitation[]>
  /** False if there is none with this id. */
  revokeInvitation(id: string, by: string): Awaitable<boolean>
}

/** The open methods of sign-in of a configuration. */
export function waysIn({ signIn }: { readonly signIn?: SignInPlan }): WaysIn {
  if (!signIn) return { passwords: true, issuers: [] }
  return { passwords: signIn.passwords, issuers: [...signIn.issuers.values()].map(({ url }) => issuerId(url)) }
}

/** The stored id of an issuer: its URL with and without a final slash has the same id. */
export function issuerId(url: string): string {
  return new URL(url).href
}
