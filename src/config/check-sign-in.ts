import type { Settings } from './build.ts'
import type { Report } from './report.ts'

type Own = Settings['sign_in']['issuers'][string]
type Fault = { readonly member: keyof Own; readonly code: string; readonly message: string; readonly remedy: string }

/** What an issuer may be called: its name is part of the address that browsers come back to. */
const issuerName = /^[a-z0-9][a-z0-9-]{0,39}$/
/** Of Entra, the names that mean any tenant. */
const anyTenant = /^\/(?:common|organizations|consumers)(?:\/|$)/

/** Refuses ways to sign in that no one could use, and those that everyone could. */
export function checkSignIn(settings: unknown, report: Report): void {
  if (['sign_in', 'server', 'groups'].some(name => report.broken([name]))) return
  const { sign_in: own, server, groups } = (settings ?? {}) as Partial<Settings>
  const issuers = Object.entries(own?.issuers ?? {})
  if (own?.passwords === false && issuers.length === 0) {
    report.atValue(['sign_in', 'passwords'], {
      code: 'sign_in_none',
      message: 'nobody could sign in: without passwords there has to be an issuer',
      remedy: 'add one under sign_in.issuers, or leave passwords on',
    })
  }
  if (issuers.length > 0 && server?.public_url === undefined) {
    report.atKey(['sign_in', 'issuers'], {
      code: 'sign_in_public_url',
      message: 'issuers send people back to the console, and its address is not known',
      remedy: 'set server.public_url to what browsers show, such as https://ai.example.com',
    })
  }
  for (const [name, issuer] of issuers) {
    const path = ['sign_in', 'issuers', name]
    if (!issuerName.test(name)) {
      report.atKey(path, {
        code: 'sign_in_name',
        message: `'${name}' is part of an address`,
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
    const message = 'people would be vouched for without encryption'
    yield {
      member: 'issuer',
      code: 'sign_in_http',
      message,
      remedy: 'write https://, or allow_http: true where it is meant',
    }
  }
  if (hostname === 'login.microsoftonline.com' && anyTenant.test(pathname)) {
    const message = 'people of every tenant would be vouched for'
    yield { member: 'issuer', code: 'sign_in_anybody', message, remedy: 'write the id of your own tenant' }
  }
  const gone = Object.entries(own.groups ?? {}).find(([, group]) => !groups.includes(group))
  if (gone) {
    const message = `'${gone[0]}' is given the group '${gone[1]}', which there is not`
    yield { member: 'groups', code: 'sign_in_group', message, remedy: `write one of ${groups.join(', ')}` }
  }
  if ((own.allow_sign_up || own.groups) && !groups.includes(own.group)) {
    const member = own.group !== 'default' ? 'group' : own.groups ? 'groups' : 'allow_sign_up'
    const remedy = `${own.group === 'default' ? 'set group to' : 'write'} one of ${groups.join(', ')}`
    yield { member, code: 'sign_in_group', message: `there is no group '${own.group}'`, remedy }
  }
  if (!own.allow_sign_up) return
  if (hostname === 'accounts.google.com' && own.email_domains.length === 0) {
    const message = 'whoever has an account there would become a user'
    yield { member: 'allow_sign_up', code: 'sign_in_anybody', message, remedy: 'set email_domains to your own' }
  }
  if (!own.roles && own.default_role === undefined) {
    const message = 'nobody could become a user: no role is said for them'
    yield { member: 'allow_sign_up', code: 'sign_in_role', message, remedy: 'set default_role, or roles by group' }
  }
}
