import type * as Oidc from 'openid-client'
import { type Failure, type Identity, type Issuer, issuerId } from '../../domain/index.ts'
import type { Log } from '../../plugin-api/index.ts'
import { systemClock, type Times } from '../../util/index.ts'
import { fail } from '../errors.ts'
import { type Claims, verifiedEmail } from './claims.ts'

/** How long an issuer may take for each answer. */
const answerS = 10
/** How long an issuer's metadata is cached. */
const knownMs = 3_600_000
const reasonCharsMax = 300

/** What is proved by one way to an issuer and back. */
export type Proof = {
  /** Where the issuer sends the browser; nothing else is accepted by it. */
  readonly redirect: string
  readonly state: string
  readonly nonce: string
  /** Of PKCE: what the challenge was made of. */
  readonly verifier: string
}

export type Vouched = { readonly identity: Identity; readonly claims: Claims }

type Known = { readonly issuer: Issuer; readonly at: number; readonly asked: Promise<Oidc.Configuration> }

/** Calls issuers; their metadata and keys are cached for a while. */
export class Issuers {
  readonly #clock: Times
  readonly #log: Log
  readonly #known = new Map<string, Known>()

  constructor(clock: Times, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** @returns where the browser goes. @throws Failure issuer_unavailable */
  async begin(issuer: Issuer, { redirect, state, nonce, verifier }: Proof, request: string): Promise<string> {
    const oidc = await load()
    const configuration = await this.#discover(oidc, issuer, request)
    const parameters = {
      redirect_uri: redirect,
      scope: issuer.scopes.join(' '),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    return oidc.buildAuthorizationUrl(configuration, parameters).href
  }

  /**
   * Takes what a browser brings back to the issuer: state, issuer, signature, audience, nonce and time are held against what was
   * asked for. `query` is the part after the `?`.
   * @throws Failure issuer_unavailable, sign_in_denied, sign_in_failed
   */
  async finish(
    issuer: Issuer,
    { redirect, state, nonce, verifier }: Proof,
    query: string,
    request: string,
  ): Promise<Vouched> {
    const oidc = await load()
    const known = await this.#discover(oidc, issuer, request)
    // By the gateway's clock, and not the process's; it may have been put right since the last request.
    const configuration = configure(oidc, issuer, known.serverMetadata(), this.#clock)
    const keys = oidc.getJwksCache(known)
    if (keys) oidc.setJwksCache(configuration, keys)
    const url = new URL(redirect)
    url.search = query
    try {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const tokens = await oidc.authorizationCodeGrant(configuration, url, checks)
      const idToken = tokens.claims()
      if (!idToken) throw new TypeError('no ID token')
      const claims = await complete(oidc, configuration, issuer, tokens.access_token, idToken)
      const used = oidc.getJwksCache(configuration)
      if (used) oidc.setJwksCache(known, used)
      // By its address in the configuration, which `waysIn` uses: a vendor may answer one address in the name of another.
      return { identity: { issuer: issuerId(issuer.url), subject: idToken.sub }, claims }
    } catch (error) {
      throw this.#explain(oidc, error, issuer, request)
    }
  }

  /**
   * Where the session at the issuer is ended; it sends the browser back to `redirect`, where that is registered with it.
   * @returns undefined where it names no such address, or does not answer: then it goes on
   */
  async signOut(
    issuer: Issuer,
    { redirect, hint }: { readonly redirect: string; readonly hint: string },
    request: string,
  ): Promise<string | undefined> {
    const oidc = await load()
    try {
      const configuration = await this.#discover(oidc, issuer, request)
      const parameters = { post_logout_redirect_uri: redirect, ...(hint !== '' && { logout_hint: hint }) }
      return oidc.buildEndSessionUrl(configuration, parameters).href
    } catch (error) {
      this.#log.warn({ request, issuer: issuer.name, reason: reasonOf(error) }, 'a session goes on at the issuer')
      return undefined
    }
  }

  async #discover(oidc: typeof Oidc, issuer: Issuer, request: string): Promise<Oidc.Configuration> {
    const now = this.#clock.tick()
    const before = this.#known.get(issuer.name)
    if (before && before.issuer === issuer && now - before.at < knownMs) return before.asked
    const asked = discover(oidc, issuer, this.#clock)
    const known = { issuer, at: now, asked }
    this.#known.set(issuer.name, known)
    try {
      return await asked
    } catch (error) {
      // Requested again by the next sign-in.
      if (this.#known.get(issuer.name) === known) this.#known.delete(issuer.name)
      this.#log.warn(
        { request, issuer: issuer.name, reason: reasonOf(error) },
        'an issuer of identities did not answer',
      )
      throw fail('issuer_unavailable', { label: issuer.label })
    }
  }

  #explain(oidc: typeof Oidc, error: unknown, { name, label }: Issuer, request: string): Failure {
    this.#log.warn({ request, issuer: name, reason: reasonOf(error) }, 'a sign-in was refused')
    if (error instanceof oidc.AuthorizationResponseError && error.error === 'access_denied')
      return fail('sign_in_denied', { label })
    return fail(isOutage(oidc, error) ? 'issuer_unavailable' : 'sign_in_failed', { label })
  }
}

/** Loaded with the first sign-in: most gateways have none. */
async function load(): Promise<typeof Oidc> {
  return import('openid-client')
}

async function discover(oidc: typeof Oidc, issuer: Issuer, clock: Times): Promise<Oidc.Configuration> {
  const { url, clientId, allowHttp } = issuer
  const execute = allowHttp ? [oidc.allowInsecureRequests] : []
  const found = await oidc.discovery(new URL(url), clientId, undefined, authOf(oidc, issuer), {
    execute,
    timeout: answerS,
  })
  return configure(oidc, issuer, found.serverMetadata(), clock)
}

function configure(oidc: typeof Oidc, issuer: Issuer, server: Oidc.ServerMetadata, clock: Times): Oidc.Configuration {
  const aheadS = Math.round((clock.now() - systemClock.now()) / 1_000)
  const metadata = { [oidc.clockSkew]: aheadS }
  const configuration = new oidc.Configuration(server, issuer.clientId, metadata, authOf(oidc, issuer))
  configuration.timeout = answerS
  if (issuer.allowHttp) oidc.allowInsecureRequests(configuration)
  // The signature is checked too, and not TLS alone relied on.
  oidc.enableNonRepudiationChecks(configuration)
  return configuration
}

function authOf(oidc: typeof Oidc, { clientSecret, clientAuth }: Issuer): Oidc.ClientAuth {
  if (clientSecret === undefined) return oidc.None()
  return clientAuth === 'post' ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret)
}

/** Some tokens have no more than a name: what is needed and missing is requested. */
async function complete(
  oidc: typeof Oidc,
  configuration: Oidc.Configuration,
  { roles, groups, groupsClaim }: Issuer,
  accessToken: string,
  idToken: Oidc.IDToken,
): Promise<Claims> {
  const claims: Claims = idToken
  const root = Object.hasOwn(claims, groupsClaim) ? groupsClaim : (groupsClaim.split('.', 1)[0] ?? '')
  const isEnough = verifiedEmail(claims) !== undefined && ((!roles && !groups) || Object.hasOwn(claims, root))
  if (isEnough || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
  const more: Claims = await oidc.fetchUserInfo(configuration, accessToken, idToken.sub)
  // An e-mail and whether it is verified are one word, of one of the two.
  const mail = verifiedEmail(claims) === undefined ? more : claims
  return { ...more, ...claims, email: mail['email'], email_verified: mail['email_verified'] }
}

/** Whether the issuer could not be reached, rather than that it, or the browser, said something wrong. */
function isOutage(oidc: typeof Oidc, error: unknown): boolean {
  if (error instanceof TypeError) return error.message === 'fetch failed'
  if (!(error instanceof oidc.ClientError)) return false
  if (error.code === 'OAUTH_TIMEOUT') return true
  const { cause } = error
  return cause instanceof Response && cause.status >= 500
}

/** For the log: the code, and the issuer's word for it; nothing of what was in a token. */
function reasonOf(error: unknown): string {
  const { code, error: word, error_description: text, message } = error as { readonly [member: string]: unknown }
  const cause = ((error as Error).cause as { readonly code?: unknown } | undefined)?.code
  const words = [code, word, text, message, cause].filter(one => typeof one === 'string')
  return [...new Set(words)].join(': ').slice(0, reasonCharsMax)
}
