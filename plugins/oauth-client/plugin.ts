import { askForToken, defineSigner, signAsBearer, Tokens } from '../../src/plugin-api/index.ts'
import { optionsSchema } from './schema.ts'

/** Access tokens for an OAuth client (OAuth 2.0, RFC 6749 4.4), sent as a bearer token. */
export const oauthClient = defineSigner({
  name: 'oauth-client',
  options: optionsSchema,
  create({ token_url: url, client_id: id, client_secret: secret, scope, audience, authenticate }, { clock, post }) {
    const who = authenticate === 'body' ? { client_id: id, client_secret: secret } : {}
    const headers = authenticate === 'basic' ? ['authorization', basic(id, secret)] : []
    const form = {
      grant_type: 'client_credentials',
      ...who,
      ...(scope !== undefined && { scope }),
      ...(audience !== undefined && { audience }),
    }
    return signAsBearer(new Tokens(clock, () => askForToken({ url, form, headers, clock, post })))
  },
})

/** Each half is form-encoded before the two are joined (RFC 6749 2.3.1). */
function basic(id: string, secret: string): string {
  const [left, right] = [id, secret].map(text => new URLSearchParams([['', text]]).toString().slice(1))
  return `Basic ${Buffer.from(`${left}:${right}`).toString('base64')}`
}
