import { effect, signal } from '@preact/signals'
import { ApiError, call, onSessionEnd, shownUser } from './call.ts'
import { forgetPrefetched } from './prefetch.ts'
import type { Departure, Duty, Session, SignedIn } from './shapes.ts'

type SessionState =
  | { readonly kind: 'asking' }
  /** `hasEnded`: the pages stay, with everything that was typed, but the sign-in covers them. */
  | { readonly kind: 'in'; readonly session: Session; readonly hasEnded?: true }
  | { readonly kind: 'out'; readonly setupNeeded: boolean }
  | { readonly kind: 'failed'; readonly error: ApiError }

export const sessionState = signal<SessionState>({ kind: 'asking' })

/** Requests that found that the session has ended. */
const waiting: { readonly user: string; readonly goOn: () => void }[] = []

effect(() => {
  const state = sessionState.value
  const user = (shownUser.name = state.kind === 'in' ? state.session.user.name : null)
  if (state.kind === 'asking' || (state.kind === 'in' && state.hasEnded)) return
  // The pages of another user are gone, and their requests with them.
  for (const one of waiting.splice(0)) if (one.user === user) one.goOn()
})

onSessionEnd.run = () => {
  const state = sessionState.value
  if (state.kind !== 'in') return undefined
  forgetPrefetched()
  sessionState.value = { ...state, hasEnded: true }
  return new Promise(goOn => void waiting.push({ user: state.session.user.name, goOn }))
}

/** Requests the current session. */
export async function askSession(): Promise<void> {
  try {
    sessionState.value = { kind: 'in', session: await call<Session>('/session') }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    sessionState.value =
      error.status === 401 ? { kind: 'out', setupNeeded: error.setupNeeded } : { kind: 'failed', error }
  }
}

export async function logIn(name: string, password: string): Promise<void> {
  sessionState.value = {
    kind: 'in',
    session: await call<Session>('/session', { method: 'POST', body: { name, password } }),
  }
}

export async function setUp(claim: { token: string; name: string; password: string }): Promise<void> {
  sessionState.value = { kind: 'in', session: await call<Session>('/setup', { method: 'POST', body: claim }) }
}

/** Sends the browser to an issuer. It returns to `/console/sign-in/…`. */
export async function leaveFor(
  issuer: string,
  errand: {
    readonly next?: string
    readonly invitation?: string
    readonly name?: string
    readonly link?: true
    readonly password?: string
  } = {},
): Promise<void> {
  const { location: to } = await call<Departure>('/sign-in', { method: 'POST', body: { issuer, ...errand } })
  location.assign(to)
}

/** Completes a sign-in with the issuer's answer. @returns the page that the user wanted */
export async function comeBack(issuer: string, query: string): Promise<string | undefined> {
  const { session, next } = await call<SignedIn>(`/sign-in/${issuer}`, { method: 'POST', body: { query } })
  sessionState.value = { kind: 'in', session }
  return next ?? undefined
}

/** Creates a user from an invitation and a password. */
export async function join(claim: { token: string; name?: string; password: string }): Promise<void> {
  sessionState.value = {
    kind: 'in',
    session: await call<Session>('/invitation/accept', { method: 'POST', body: claim }),
  }
}

/** If the issuer has a sign-out page, the browser goes there. */
export async function logOut(): Promise<void> {
  const to = await call<Departure | undefined>('/session', { method: 'DELETE' })
  forgetPrefetched()
  if (to) location.assign(to.location)
  sessionState.value = { kind: 'out', setupNeeded: false }
}

/** Whether the signed-in user has a duty: forbidden actions are hidden. */
export function useMay(duty: Duty): boolean {
  return useSession().may.includes(duty)
}

/** The session of a page that is only shown to signed-in users. */
export function useSession(): Session {
  const state = sessionState.value
  if (state.kind !== 'in') throw new Error('this page needs a session')
  return state.session
}
