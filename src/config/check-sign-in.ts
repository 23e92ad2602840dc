import type { Settings } from './build.ts'
import type { Report } from './report.ts'

type Own = Settings['sign_in']['issuers'][string]
type Fault = { readonly member: keyof Own; readonly code: string; readonly message: string; readonly remedy: string }

/** Valid names of an issuer: the name is part of the address to which browsers return. */
const issuerName = /^[a-z0-9][a-z0-9-]{0,39}$/
/** Names in Entra that mean any tenant. */
const anyTenant = /^\/(?:common|organizations|consumers)(?:\/|$)/

/** Rejects sign-in methods that no one could use, and those that are open to everyone. */
export function checkSignIn(settings: unknown, report: Report): void {
  if (['sign_in', 'server', 'groups'].some(name => report.broken([name]))) return
  const { sign_in: own, server, groups } = (settings ?? {}) as Partial<Settings>
  const issuers = Object.entries(own?.issuers ?? {})
  if (own?.passwords === false && issuers.length === 0) {
    report.atValue(['sign_in', 'passwords'], {
      code: 'sign_in_none',
      message: 'no one could sign in: without passwords, an issuer is required',
      remedy: 'add one under sign_in.issuers, or keep passwords on',
    })
  }
  if (issuers.length > 0 && server?.public_url === undefined) {
    report.atKey(['sign_in', 'issuers'], {
      code: 'sign_in_public_url',
      message: 'issuers redirect people back to the console, but its address is not configured',
      remedy: 'set server.public_url to the address in the browser, such as https://ai.example.com',
    })
  }
  for (const [name, issuer] of issuers) {
    const path = ['sign_in', 'issuers', name]
    if (!issuerName.test(name)) {
      report.atKey(path, {
        code: 'sign_in_name',
        message: `'${name}' is not a valid issuer name: it becomes part of a URL`,
        remedy: 'write at most 40 small letters, digits and hyphens',
      })
    }
    for (const { member, ...fault } of faultsOf(issuer, Object.keys(groups ?? {})))
      report.atValue([...path, member], fault)
  }
}

function* faultsOf(own: Own, groups: readonly string[]): Iterable<Fault> {
  const { protocol, hostname, pathname } = new URL(own.issuer)
  if (protocol === 'http:' && !own.allow_http) {
    const message = 'identities would be verified over an unencrypted connection'
    yield {
      member: 'issuer',
      code: 'sign_in_http',
      message,
      remedy: 'use https://, or set allow_http: true if this is intended',
    }
  }
  if (hostname === 'login.microsoftonline.com' && anyTenant.test(pathname)) {
    const message = 'accounts of every tenant would be accepted'
    yield { member: 'issuer', code: 'sign_in_anybody', message, remedy: 'use the id of your own tenant' }
  }
  const gone = Object.entries(own.groups ?? {}).find(([, group]) => !groups.includes(group))
  if (gone) {
    const message = `'${gone[0]}' is mapped to the group '${gone[1]}', which does not exist`
    yield { member: 'groups', code: 'sign_in_group', message, remedy: `write one of ${groups.join(', ')}` }
  }
  if ((own.allow_sign_up || own.groups) && !groups.includes(own.group)) {
    const member = own.group !== 'default' ? 'group' : own.groups ? 'groups' : 'allow_sign_up'
    const remedy = `${own.group === 'default' ? 'set group to' : 'write'} one of ${groups.join(', ')}`
    yield { member, code: 'sign_in_group', message: `there is no group '${own.group}'`, remedy }
  }
  if (!own.allow_sign_up) return
  if (hostname === 'accounts.google.com' && own.email_domains.length === 0) {
    const message = 'every person with an account there would become a user'
    yield { member: 'allow_sign_up', code: 'sign_in_anybody', message, remedy: 'set email_domains to your own domains' }
  }
  if (!own.roles && own.default_role === undefined) {
    const message = 'no one could become a user: no role is set for new users'
    yield { member: 'allow_sign_up', code: 'sign_in_role', message, remedy: 'set default_role, or map groups in roles' }
  }
}
