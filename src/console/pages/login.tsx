import { logIn, sessionState } from '../api/session.ts'
import { Form, TextField } from '../kit/form.tsx'
import { Page } from '../kit/page.tsx'
import { t } from '../words/index.ts'

export function Login() {
  const state = sessionState.value
  return (
    <div class="stack">
      <Page title={t('login')} />
      {state.kind === 'out' && state.expired && (
        <p class="note warn" role="status">
          {t('login.expired')}
        </p>
      )}
      {state.kind === 'out' && state.setupNeeded && <p class="note">{t('login.setup')}</p>}
      <Form submit={t('login')} onSubmit={values => logIn(values.get('name'), values.get('password'))}>
        <TextField name="name" label={t('user.name')} autocomplete="username" />
        <TextField name="password" label={t('password')} type="password" autocomplete="current-password" />
      </Form>
    </div>
  )
}
