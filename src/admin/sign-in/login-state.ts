import { issuerId, type Issuer, loginMs } from '../../domain/index.ts'
import type { AdminRequest } from '../api.ts'
import { fail } from '../errors.ts'
import { readCookie, writeCookie } from '../session/cookie.ts'
import { hashToken, newToken } from '../session/sessions.ts'
import type { Proof } from './issuers.ts'

/** The purpose of a sign-in at an issuer. */
export type LoginState = {
  /** The page of the console to open afterwards. */
  readonly next: string | null
  /** The signed-in user, to whom the identity at the issuer will be linked. */
  readonly user: string | null
  /** The hash of an invitation's token, and the name of the new user. */
  readonly invitation: string | null
  readonly name: string | null
}

type StoredState = LoginState & {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  readonly verifier: string
}

/** The redirect URI of an issuer. Each issuer has its own, so that its responses are not confused with another's. */
function redirectOf({ name }: Issuer, publicUrl: string): string {
  return `${publicUrl}/console/sign-in/${name}`
}

/** @throws Failure sign_in_elsewhere, because the browser would return to another host, without its cookie */
function publicUrlOf({ parts, scheme, host }: AdminRequest): string {
  const { publicUrl } = parts.plan().server
  if (publicUrl === undefined) throw fail('not_found')
  if (publicUrl !== `${scheme}://${host}`) throw fail('sign_in_elsewhere', { url: `${publicUrl}/console` })
  return publicUrl
}

/** Sends a browser to an issuer. @throws Failure slow_down, sign_in_elsewhere, issuer_unavailable */
export async function beginLogin(request: AdminRequest, issuer: Issuer, errand: LoginState) {
  const { parts, door, scheme } = request
  const { random, storage, clock } = parts
  const publicUrl = publicUrlOf(request)
  await door.departures.begin(request.remote)
  const [token, state, nonce, verifier] = [newToken(random), newToken(random), newToken(random), newToken(random)]
  const proof = { redirect: redirectOf(issuer, publicUrl), state, nonce, verifier }
  const location = await door.issuers.begin(issuer, proof, request.id)
  const stored: StoredState = { ...errand, issuer: issuerId(issuer.url), clientId: issuer.clientId, nonce, verifier }
  const login = { hash: loginHash(token, state), state: JSON.stringify(stored), expiresAt: clock.now() + loginMs }
  await storage.signIn.saveLogin(login)
  return { location, cookie: writeCookie(token, scheme, 'login') }
}

/**
 * The stored state of a returning browser, once. Without the browser's token and the issuer's state, this finds and
 * changes nothing. @throws Failure sign_in_stale
 */
export async function finishLogin(
  request: AdminRequest,
  issuer: Issuer,
  query: string,
): Promise<{ errand: LoginState; proof: Proof }> {
  const { parts, scheme, headers } = request
  const publicUrl = publicUrlOf(request)
  const token = readCookie(headers['cookie'] as string | undefined, scheme, 'login')
  const state = new URLSearchParams(query).get('state')
  if (token === undefined || state === null) throw fail('sign_in_stale')
  const kept = await parts.storage.signIn.takeLogin(loginHash(token, state))
  if (kept === undefined) throw fail('sign_in_stale')
  const { issuer: url, clientId, nonce, verifier, ...errand } = JSON.parse(kept) as StoredState
  // The state is for another issuer, or the configuration of the issuer has changed.
  if (url !== issuerId(issuer.url) || clientId !== issuer.clientId) throw fail('sign_in_stale')
  return { errand, proof: { redirect: redirectOf(issuer, publicUrl), state, nonce, verifier } }
}

function loginHash(token: string, state: string): string {
  return hashToken(`${token}.${state}`)
}
