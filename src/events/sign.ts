import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/**
 * The headers of Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp` (seconds, of this try) and `webhook-signature`, one
 * `v1,` for each secret. Secrets are `whsec_` and Base64.
 */
export function signedHeaders(
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
  secrets: readonly string[],
): { readonly [header: string]: string } {
  const seconds = Math.floor(now / 1_000)
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}
