import type * as Oidc from 'openid-client'
import { type Failure, type Identity, type Issuer, issuerId } from '../../domain/index.ts'
import type { Log } from '../../plugin-api/index.ts'
import { systemClock, type Times } from '../../util/index.ts'
import { fail } from '../errors.ts'
import { type Claims, verifiedEmail } from './claims.ts'

/** The timeout for each response of an issuer. */
const answerS = 10
/** The time for which an issuer's metadata is cached. */
const knownMs = 3_600_000
const reasonCharsMax = 300

/** The values that connect the two steps of a sign-in at an issuer. */
export type Proof = {
  /** The redirect URI: the issuer accepts no other. */
  readonly redirect: string
  readonly state: string
  readonly nonce: string
  /** The PKCE verifier, from which the challenge is computed. */
  readonly verifier: string
}

export type Verified = { readonly identity: Identity; readonly claims: Claims }

type Known = { readonly issuer: Issuer; readonly at: number; readonly metadata: Promise<Oidc.Configuration> }

/** Sends requests to issuers, and caches their metadata and keys. */
export class Issuers {
  readonly #clock: Times
  readonly #log: Log
  readonly #known = new Map<string, Known>()

  constructor(clock: Times, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** @returns the address for the browser. @throws Failure issuer_unavailable */
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
   * Verifies the issuer's response from the browser: state, issuer, signature, audience, nonce and time. `query` is the
   * part after the `?`.
   * @throws Failure issuer_unavailable, sign_in_denied, sign_in_failed
   */
  async finish(
    issuer: Issuer,
    { redirect, state, nonce, verifier }: Proof,
    query: string,
    request: string,
  ): Promise<Verified> {
    const oidc = await load()
    const known = await this.#discover(oidc, issuer, request)
    // Uses the gateway's clock instead of the process's. It may have been corrected since the last request.
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
      // Uses the address in the configuration, as `waysIn` does, because a vendor may answer at one address under
      // another name.
      return { identity: { issuer: issuerId(issuer.url), subject: idToken.sub }, claims }
    } catch (error) {
      throw this.#explain(oidc, error, issuer, request)
    }
  }

  /**
   * The address that ends the session at the issuer. The issuer then sends the browser to `redirect`, if that is
   * registered there.
   * @returns undefined if the issuer has no such address, or does not answer; its session then continues
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
    if (before && before.issuer === issuer && now - before.at < knownMs) return before.metadata
    const metadata = discover(oidc, issuer, this.#clock)
    const known = { issuer, at: now, metadata }
    this.#known.set(issuer.name, known)
    try {
      return await metadata
    } catch (error) {
      // The next sign-in requests the metadata again.
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

/** Loaded on the first sign-in, because most gateways have no issuer. */
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
  // Checks the signature too, instead of relying on TLS alone.
  oidc.enableNonRepudiationChecks(configuration)
  return configuration
}

function authOf(oidc: typeof Oidc, { clientSecret, clientAuth }: Issuer): Oidc.ClientAuth {
  if (clientSecret === undefined) return oidc.None()
  return clientAuth === 'post' ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret)
}

/** Some tokens contain only a name, so this requests the missing claims from the issuer. */
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
  // The e-mail address and its verification must have the same source.
  const mail = verifiedEmail(claims) === undefined ? more : claims
  return { ...more, ...claims, email: mail['email'], email_verified: mail['email_verified'] }
}

/** Whether the issuer was unreachable, as opposed to an invalid response of the issuer or the browser. */
function isOutage(oidc: typeof Oidc, error: unknown): boolean {
  if (error instanceof TypeError) return error.message === 'fetch failed'
  if (!(error instanceof oidc.ClientError)) return false
  if (error.code === 'OAUTH_TIMEOUT') return true
  const { cause } = error
  return cause instanceof Response && cause.status >= 500
}

/** For the log: the code, and the issuer's error code; nothing from a token. */
function reasonOf(error: unknown): string {
  const { code, error: word, error_description: text, message } = error as { readonly [member: string]: unknown }
  const cause = ((error as Error).cause as { readonly code?: unknown } | undefined)?.code
  const words = [code, word, text, message, cause].filter(one => typeof one === 'string')
  return [...new Set(words)].join(': ').slice(0, reasonCharsMax)
}
