import { signal } from '@preact/signals'
import { ApiError, call, onSessionEnd } from './call.ts'
import type { Duty, Session } from './shapes.ts'

type SessionState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'in'; readonly session: Session }
  | { readonly kind: 'out'; readonly setupNeeded: boolean; readonly expired: boolean }
  | { readonly kind: 'failed'; readonly error: ApiError }

export const sessionState = signal<SessionState>({ kind: 'asking' })

onSessionEnd.run = () => {
  sessionState.value = { kind: 'out', setupNeeded: false, expired: true }
}

/** Asks who is logged in. */
export async function askSession(): Promise<void> {
  try {
    sessionState.value = { kind: 'in', session: await call<Session>('/session') }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    sessionState.value =
      error.status === 401 ? { kind: 'out', setupNeeded: error.setupNeeded, expired: false } : { kind: 'failed', error }
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

export async function logOut(): Promise<void> {
  await call('/session', { method: 'DELETE' })
  sessionState.value = { kind: 'out', setupNeeded: false, expired: false }
}

/** Whether whoever is logged in has a duty: what they may not is not shown. */
export function useMay(duty: Duty): boolean {
  return useSession().may.includes(duty)
}

/** The session of a page that is only shown to whoever is logged in. */
export function useSession(): Session {
  const state = sessionState.value
  if (state.kind !== 'in') throw new Error('this page needs a session')
  return state.session
}
