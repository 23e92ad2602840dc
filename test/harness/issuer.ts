import { createHash, generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Context, Provider } from 'oidc-provider'
import type { Test } from 'tap'

export type Person = { readonly [claim: string]: unknown }

export type IssuerOptions = {
  /** The allowed redirect addresses. */
  readonly redirects: readonly string[]
  /** The redirect address after signing out. */
  readonly signedOut?: readonly string[]
  readonly clientId?: string
  /** Whether tokens contain all claims; otherwise they contain only the subject, and the rest is requested. */
  readonly tellsAll?: boolean
  /** The lifetime of an ID token in seconds. */
  readonly tokenS?: number
  /** Whether its answers contain `iss`. */
  readonly saysIss?: boolean
}

/** A real OpenID Connect provider, at which the test sets the identity of the user. */
export type RealIssuer = {
  readonly url: string
  readonly secret: string
  /** Subjects, and their claims. */
  readonly people: Map<string, Person>
  /** The subject who signs in next; null for a user who cancels. */
  as: string | null
  /** If set, it runs between a request and its answer: returns true when it has answered itself. */
  meddle: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined
  /** If set, it modifies the answer of the token endpoint. */
  meddleTokens: ((tokens: { id_token: string }) => void) | undefined
  /** An ID token that the issuer has signed for another client, for the next subject. */
  tokenFor(clientId: string, nonce: string): Promise<string>
  /**
   * Follows the gateway's redirect, as a browser without cookies of the issuer.
   * @returns the address that it is redirected back to
   */
  visit(location: string, jar?: Map<string, string>): Promise<URL>
  /**
   * Signs out at the issuer with the cookies in the jar, and confirms. @returns the address that it is redirected to
   */
  signOut(location: string, jar: Map<string, string>): Promise<URL>
  close(): Promise<void>
}

const otherClient = 'a-client-of-their-own'
const otherRedirect = 'https://other.example/back'
const secret = 'the-secret-of-the-client-at-the-issuer'

export async function startIssuer(t: Pick<Test, 'teardown'>, options: IssuerOptions): Promise<RealIssuer> {
  const { clientId = 'tollgate', tellsAll = true, tokenS = 3_600, saysIss = true } = options
  const server = createServer((req, res) => void answer(req, res))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Person>()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(url, {
    clients: [clientId, otherClient].map(id => ({
      client_id: id,
      client_secret: secret,
      redirect_uris: id === otherClient ? [otherRedirect] : options.redirects,
      post_logout_redirect_uris: id === otherClient ? [] : (options.signedOut ?? []),
      response_types: ['code'],
      grant_types: ['authorization_code'],
    })),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] },
    cookies: { keys: ['a key of the tests'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username', 'groups', 'realm_access'],
    },
    conformIdTokenClaims: !tellsAll,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    ttl: { IdToken: tokenS, AccessToken: 600, AuthorizationCode: 60, Interaction: 600, Session: 600, Grant: 600 },
    interactions: { url: (_context: Context, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: Context, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people.get(id) }),
    }),
    // Grants consent automatically: consent is not part of these tests.
    async loadExistingGrant({ oidc }: Context) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()
  const issuer: RealIssuer = {
    url,
    secret,
    people,
    as: null,
    meddle: undefined,
    meddleTokens: undefined,
    async tokenFor(client, nonce) {
      const verifier = 'v'.repeat(43)
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      const query = new URLSearchParams({
        client_id: client,
        response_type: 'code',
        redirect_uri: otherRedirect,
        scope: 'openid profile email',
        state: 'theirs',
        nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      const back = await issuer.visit(`${url}/auth?${query.toString()}`)
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: back.searchParams.get('code') ?? '',
          redirect_uri: otherRedirect,
          code_verifier: verifier,
        }),
      })
      return ((await response.json()) as { id_token: string }).id_token
    },
    async visit(location, jar = new Map<string, string>()) {
      let next = new URL(location)
      while (next.origin === url) {
        const response = await ask(next, jar)
        const to = response.headers.get('location')
        if (to === null) throw new Error(`the issuer answered ${response.status}: ${await response.text()}`)
        next = new URL(to, next)
      }
      if (!saysIss) next.searchParams.delete('iss')
      return next
    },
    async signOut(location, jar) {
      const response = await ask(new URL(location), jar)
      const page = await response.text()
      const [action, xsrf] = [/action="([^"]+)"/, /name="xsrf" value="([^"]+)"/].map(one => one.exec(page)?.[1])
      if (action === undefined || xsrf === undefined) throw new Error(`the issuer answered ${response.status}: ${page}`)
      const done = await ask(new URL(action), jar, new URLSearchParams({ xsrf, logout: 'yes' }))
      return new URL(done.headers.get('location') ?? '', url)
    },
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  t.teardown(() => issuer.close())
  return issuer

  async function ask(address: URL, jar: Map<string, string>, form?: URLSearchParams): Promise<Response> {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = form ? { method: 'POST', body: form } : {}
    const response = await fetch(address, { redirect: 'manual', headers: { cookie }, ...sent })
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = set.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      jar.set(name, value)
    }
    return response
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (issuer.meddle?.(req, res) === true) return
    const change = issuer.meddleTokens
    if (change && req.url === '/token') {
      const end = res.end.bind(res) as (text: string) => ServerResponse
      res.end = ((text: string | Buffer) => {
        const tokens = JSON.parse(String(text)) as { id_token: string }
        change(tokens)
        const changed = JSON.stringify(tokens)
        res.setHeader('content-length', Buffer.byteLength(changed))
        return end(changed)
      }) as typeof res.end
    }
    if (!req.url?.startsWith('/interaction/')) return callback(req, res)
    const result = issuer.as === null ? { error: 'access_denied' } : { login: { accountId: issuer.as } }
    await provider.interactionFinished(req, res, result)
  }
}
