import { isChosenName, isUserName, type Issuer, type Role, roles } from '../../domain/index.ts'
import { valueAtNames } from '../../util/index.ts'

/** Verified claims about a person from an issuer. */
export type Claims = { readonly [claim: string]: unknown }

/** If there are several roles, the first in this order counts. */
const order: readonly Role[] = [...roles].toReversed()

/** The groups of a person: the value of the claim with that name, or the value at that dotted path. */
export function groupsOf(claims: Claims, claim: string): readonly string[] {
  const found = Object.hasOwn(claims, claim) ? claims[claim] : valueAtNames(claims, claim.split('.'))
  const all: readonly unknown[] = Array.isArray(found) ? found : [found]
  return all.filter(one => typeof one === 'string')
}

/** The role from the claims by `roles`; undefined without one, or if the issuer does not set roles. */
export function roleOf(claims: Claims, { groupsClaim, roles, defaultRole }: Issuer): Role | undefined {
  if (!roles) return undefined
  const given = new Set(groupsOf(claims, groupsClaim).map(group => roles.get(group)))
  return order.find(role => given.has(role)) ?? defaultRole
}

/** The group from the claims; undefined if the issuer does not set groups. */
export function groupOf(claims: Claims, { groupsClaim, groups, group }: Issuer): string | undefined {
  if (!groups) return undefined
  const theirs = new Set(groupsOf(claims, groupsClaim))
  return [...groups].find(([there]) => theirs.has(there))?.[1] ?? group
}

/** The person's e-mail address in lower case, if the issuer has verified it. */
export function verifiedEmail({ email, email_verified: isVerified }: Claims): string | undefined {
  if (typeof email !== 'string' || isVerified !== true) return undefined
  return email.toLowerCase()
}

export function isDomainAllowed(email: string | undefined, { emailDomains }: Issuer): boolean {
  if (emailDomains.length === 0) return true
  return email !== undefined && emailDomains.includes(email.slice(email.lastIndexOf('@') + 1))
}

/**
 * The name of a new user: the verified e-mail address, or the user name at the issuer. Only an administrator, or an
 * issuer that has verified it, may set a name with an @. Otherwise it could imitate another person's e-mail address.
 */
export function nameOf(claims: Claims): string | undefined {
  const email = verifiedEmail(claims)
  if (email !== undefined && isUserName(email)) return email
  const names = [claims['preferred_username'], claims['nickname']]
  return names.find((name): name is string => typeof name === 'string' && isChosenName(name))
}
