import { useLocation } from 'preact-iso'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { leaveFor, logIn, sessionState } from '../api/session.ts'
import type { WaysIn } from '../api/shapes.ts'
import { SignInFrame } from '../frame/sign-in-frame.tsx'
import { Form, TextField } from '../kit/form.tsx'
import { Issuers } from '../kit/issuers.tsx'
import { Page } from '../kit/page.tsx'
import { safeNext } from '../next.ts'
import { t } from '../words/index.ts'

export function Login() {
  const { query } = useLocation()
  return (
    <div class="stack">
      <Page title={t('login')} />
      <SignIn next={query['next']} />
    </div>
  )
}

/** Covers the pages of a session that has ended. They stay for the same user, but without passwords. */
export function SignInAgain() {
  const { url } = useLocation()
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    for (const field of document.querySelectorAll<HTMLInputElement>('[type=password]')) field.value = ''
    const cover = dialog.current
    if (!cover) return undefined
    cover.showModal()
    // A dialog that opens later, such as one that shows a new secret, would be above this one.
    const others = new MutationObserver(changes => {
      if (changes.every(({ target }) => target === cover)) return
      cover.close()
      cover.showModal()
    })
    others.observe(document, { subtree: true, attributeFilter: ['open'] })
    return () => {
      others.disconnect()
      cover.close()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="cover"
      aria-label={t('login')}
      onCancel={event => event.preventDefault()}
      // A browser may close it without a cancel event.
      onClose={() => dialog.current?.showModal()}
    >
      <SignInFrame>
        <div class="stack">
          <h1>{t('login')}</h1>
          <SignIn next={url} />
        </div>
      </SignInFrame>
    </dialog>
  )
}

/** The ways to sign in, and the reason to do so. `next`: the page after an issuer's. */
function SignIn({ next: wanted }: { readonly next: string | undefined }) {
  const state = sessionState.value
  const ways = useLoad<WaysIn>('/sign-in').value
  const next = safeNext(wanted)
  const errand = wanted !== undefined && next.length <= 500 ? { next } : {}
  const top = useRef<HTMLDivElement>(null)
  const user = state.kind === 'in' ? state.session.user.name : undefined
  const first = user === undefined ? 'name' : 'password'
  useEffect(() => top.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus(), [])
  return (
    <div class="stack" ref={top}>
      {user !== undefined && (
        <p class="note warn" role="status">
          {t('login.expired')}
        </p>
      )}
      {state.kind === 'out' && state.setupNeeded && <p class="note">{t('login.setup')}</p>}
      {ways?.passwords !== false && (
        <Form
          submit={t('login')}
          onSubmit={values => logIn(values.get('name'), values.get('password')).catch(explainDelay)}
        >
          <TextField name="name" label={t('user.name')} value={user ?? ''} autocomplete="username" />
          <TextField name="password" label={t('password')} type="password" autocomplete="current-password" />
        </Form>
      )}
      {ways && <Issuers of={ways} onPick={issuer => leaveFor(issuer, errand)} />}
    </div>
  )
}

/** The wait after a wrong password. */
function explainDelay(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'slow_down') throw error
  throw new ApiError(error.status, 'login_delayed', error.message, { retryAfter: error.retryAfter })
}
