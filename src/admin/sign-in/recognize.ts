import { type Identity, type Issuer, type Role, type User, waysIn } from '../../domain/index.ts'
import type { AdminRequest } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { noteRefused } from '../session/note-refused.ts'
import { groupOf, isDomainAllowed, nameOf, roleOf, verifiedEmail } from './claims.ts'
import type { Verified } from './issuers.ts'
import type { LoginState } from './login-state.ts'

type Arrived = Verified & { readonly request: AdminRequest; readonly issuer: Issuer; readonly errand: LoginState }

/**
 * The user whom an issuer has verified: a user with a link to the identity, a user who gets the link now, or a new
 * user, with the role and group from the claims.
 * @throws Failure no_account, no_role, account_disabled, identity_taken, invitation_unknown, conflict
 */
export async function recognize(arrived: Arrived): Promise<string> {
  const { request, issuer, claims, identity } = arrived
  const { storage } = request.parts
  const known = await storage.signIn.find(identity)
  const role = roleOf(claims, issuer)
  const isRefused = !isDomainAllowed(verifiedEmail(claims), issuer) || (issuer.roles && role === undefined)
  if (isRefused) {
    // Earlier sessions have a role that the user has lost.
    if (known) await storage.signIn.endSessions(known.name)
    throw await turnAway(request, issuer, 'no_role', known?.name)
  }
  const user = known ?? (await findByEmail(arrived))
  if (!user) return admit(arrived, role)
  if (user.status !== 'active') throw await turnAway(request, issuer, 'account_disabled', user.name)
  const group = groupOf(claims, issuer)
  const change = {
    ...(role !== undefined && role !== user.role && { role }),
    ...(group !== undefined && group !== user.group && { group }),
  }
  if (Object.keys(change).length > 0)
    await storage.users.change(user.name, change, actorOf(issuer), waysIn(request.parts.plan()))
  return user.name
}

/** Links the identity at an issuer to a user who is signed in. @throws Failure no_role, identity_taken */
export async function tie({ request, issuer, claims, identity }: Arrived, user: string): Promise<void> {
  if (!isDomainAllowed(verifiedEmail(claims), issuer)) throw fail('no_role', { label: issuer.label })
  if (issuer.roles && roleOf(claims, issuer) === undefined) throw fail('no_role', { label: issuer.label })
  const linked = await request.parts.storage.signIn.link(identity, user, user)
  if (linked !== 'linked') throw fail('identity_taken', { label: issuer.label })
}

/** The author of a change that follows from claims. */
function actorOf({ name }: Issuer): string {
  return `issuer ${name}`
}

/**
 * A user whose name is the verified e-mail address, if the operator trusts the issuer with that. An e-mail address may
 * be assigned to another person later, so a person who has signed in at this issuer before is only identified by the
 * subject.
 */
async function findByEmail({ request, issuer, claims, identity }: Arrived): Promise<User | undefined> {
  const email = issuer.matchesEmail ? verifiedEmail(claims) : undefined
  if (email === undefined) return undefined
  const { users, signIn } = request.parts.storage
  const user = await users.find(email)
  if (!user) return undefined
  const linked = await signIn.link(identity, user.name, actorOf(issuer), true)
  if (linked !== 'linked') throw await turnAway(request, issuer, 'identity_taken', user.name)
  return user
}

/** Creates a user from an invitation, or if new users are allowed. */
async function admit(
  { request, issuer, claims, identity, errand }: Arrived,
  byClaims: Role | undefined,
): Promise<string> {
  const { signIn } = request.parts.storage
  const { invitation: hash } = errand
  const invitation = hash === null ? undefined : await signIn.invitation(hash)
  if (hash !== null && !invitation) throw fail('invitation_unknown')
  if (!invitation && !issuer.allowsSignUp) throw await turnAway(request, issuer, 'no_account')
  // Only invited users choose their names; the issuer sets all others.
  const name = (invitation && (invitation.name ?? errand.name)) ?? nameOf(claims)
  if (name === undefined) throw await turnAway(request, issuer, 'no_account')
  const role = byClaims ?? invitation?.role ?? issuer.defaultRole
  if (role === undefined) throw await turnAway(request, issuer, 'no_role')
  const group = groupOf(claims, issuer) ?? invitation?.group ?? issuer.group
  needGroup(request, group)
  await admitAs(request, { identity, hash, actor: actorOf(issuer), label: issuer.label }, { name, role, group })
  return name
}

type Way = {
  readonly identity: Identity
  readonly hash: string | null
  readonly actor: string
  readonly label: string
}

async function admitAs(
  { parts }: AdminRequest,
  { identity, hash, actor, label }: Way,
  user: Pick<User, 'name' | 'role' | 'group'>,
): Promise<void> {
  const newcomer = { user: { ...user, passwordHash: null }, identity, invitation: hash }
  const admitted = await parts.storage.signIn.admit(newcomer, actor)
  if (admitted === 'uninvited') throw fail('invitation_unknown')
  if (admitted === 'taken') throw fail('identity_taken', { label })
}

/** The configuration may no longer have the group of an invitation. @throws Failure conflict */
export function needGroup({ parts }: AdminRequest, group: string): void {
  if (!parts.plan().groups.has(group)) throw refuse('conflict', 'group_gone', { group })
}

async function turnAway(
  request: AdminRequest,
  { name, label }: Issuer,
  code: 'no_account' | 'no_role' | 'account_disabled' | 'identity_taken',
  user?: string,
) {
  await noteRefused(request, user ?? '', name)
  request.parts.log.warn(
    { request: request.id, issuer: name, reason: code, ...(user !== undefined && { user }) },
    'a sign-in was refused',
  )
  return fail(code, { label })
}
