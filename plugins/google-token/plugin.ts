import { askForToken, defineSigner, signAsBearer, Tokens } from '../../src/plugin-api/index.ts'
import { parseKey, type ServiceAccount } from './parse-key.ts'
import { optionsSchema } from './schema.ts'

/** The requested lifetime in seconds; the service refuses a longer one. */
const lifeS = 3_600
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * Access tokens of a service account: exchanges a signed assertion for a token, which requests send as a bearer token.
 */
export const googleToken = defineSigner({
  name: 'google-token',
  options: optionsSchema,
  inspectOptions({ key }) {
    const read = parseKey(key)
    if (!('fault' in read)) return []
    const message = `this is not a service account key: ${read.fault}`
    const remedy = 'write "${file:PATH}", where PATH is the downloaded key file'
    return [{ severity: 'error', code: 'key_unusable', message, remedy, path: ['key'] }]
  },
  async create({ key, scope, token_url: url }, { clock, post }) {
    const account = parseKey(key)
    if ('fault' in account) throw new Error(`its key is unusable: ${account.fault}`)
    const assert = await createAssertion(account, scope)
    const tokens = new Tokens(clock, async () => {
      const assertion = await assert(Math.floor(clock.now() / 1_000))
      return askForToken({ url: url ?? account.tokenUri, form: { grant_type: grant, assertion }, clock, post })
    })
    return signAsBearer(tokens)
  },
})

/** The assertion, signed by the account's key, that requests a token (RFC 7523). @throws Error for an invalid key */
async function createAssertion(
  { email, privateKey, keyId, tokenUri }: ServiceAccount,
  scope: string,
): Promise<(now: number) => Promise<string>> {
  const { importPKCS8, SignJWT } = await import('jose')
  const key = await importPKCS8(privateKey, 'RS256')
  const head = { alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  // The key file contains the audience, whatever the address of the request.
  return now =>
    new SignJWT({ iss: email, scope, aud: tokenUri, exp: now + lifeS, iat: now }).setProtectedHeader(head).sign(key)
}
