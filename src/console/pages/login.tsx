import { useLocation } from 'preact-iso'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { leaveFor, logIn, sessionState } from '../api/session.ts'
import type { WaysIn } from '../api/shapes.ts'
import { Form, TextField } from '../kit/form.tsx'
import { Issuers } from '../kit/issuers.tsx'
import { Page } from '../kit/page.tsx'
import { safeNext } from '../next.ts'
import { t } from '../words/index.ts'

export function Login() {
  const state = sessionState.value
  const { query } = useLocation()
  const ways = useLoad<WaysIn>('/sign-in').value
  const next = safeNext(query['next'])
  const errand = query['next'] !== undefined && next.length <= 500 ? { next } : {}
  const top = useRef<HTMLDivElement>(null)
  useEffect(() => top.current?.querySelector<HTMLInputElement>('[name=name]')?.focus(), [])
  return (
    <div class="stack" ref={top}>
      <Page title={t('login')} />
      {state.kind === 'out' && state.expired && (
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
          <TextField name="name" label={t('user.name')} autocomplete="username" />
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
