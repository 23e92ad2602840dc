import type { Upstream } from '../kit/index.ts'
import type { Report } from './report.ts'

/** Notes a real upstream whose credential came out empty: `Bearer ` and nothing behind it. */
export function checkCredentials(upstreams: ReadonlyMap<string, Upstream>, report: Report): void {
  for (const { name, url, credential } of upstreams.values()) {
    if (!credential || url.startsWith('simulator:')) continue
    if (!/^(?:Bearer|Basic|Token)?\s*$/i.test(credential.value)) continue
    const message = `the credential of '${name}' is empty; ${url} will refuse its requests`
    const remedy = 'set the variable that it comes from, or take the credential out'
    report.atValue(['upstreams', name, 'credential', 'value'], {
      severity: 'note',
      code: 'credential_empty',
      message,
      remedy,
    })
  }
}
