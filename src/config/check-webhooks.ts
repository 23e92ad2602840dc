import { isIP } from 'node:net'
import { isPublicAddress, plainHost } from '../util/index.ts'
import type { Settings } from './build.ts'
import type { Report } from './report.ts'

type Own = Settings['events']['webhooks'][string]

/** Rejects webhooks that cannot work: without the settings of their format, or at addresses that are not allowed. */
export function checkWebhooks(settings: unknown, report: Report): void {
  if (report.broken(['events'])) return
  const { events } = (settings ?? {}) as Partial<Settings>
  for (const [name, own] of Object.entries(events?.webhooks ?? {})) {
    const path = ['events', 'webhooks', name]
    for (const member of lackedBy(own)) {
      report.atKey(path, {
        code: 'webhook_incomplete',
        message: `'${name}' has the format ${own.format}, which requires '${member}'`,
        remedy: `add '${member}'`,
      })
    }
    const fault = faultOfUrl(own)
    if (fault) report.atValue([...path, 'url'], { code: 'webhook_url', ...fault })
  }
}

function lackedBy(own: Own): readonly string[] {
  const needed = { standard: ['secret'], slack: [], email: ['from', 'to'] } as const
  return needed[own.format].filter(member => own[member] === undefined)
}

function faultOfUrl({ url, format, allow_private }: Own): { message: string; remedy: string } | undefined {
  const address = new URL(url)
  const isMail = address.protocol.startsWith('smtp')
  if (isMail !== (format === 'email')) {
    const remedy =
      format === 'email'
        ? 'write smtps://HOST, with user and password before an @'
        : 'write https://HOST/PATH, or format: email'
    return { message: `events in the format ${format} cannot be sent to an address of ${address.protocol}`, remedy }
  }
  if (allow_private) return undefined
  const remedy = 'set allow_private: true if this is intended'
  if (address.protocol === 'http:') return { message: 'events would be sent there without encryption', remedy }
  const host = plainHost(address)
  if (isIP(host) !== 0 && !isPublicAddress(host)) return { message: `${host} is not a public internet address`, remedy }
  return undefined
}
