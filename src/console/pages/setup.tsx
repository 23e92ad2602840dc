import { useEffect, useState } from 'preact/hooks'
import { setUp } from '../api/session.ts'
import { Form, SelectField, TextField, type Values } from '../kit/form.tsx'
import { Page } from '../kit/page.tsx'
import { NewPassword, readPassword } from '../kit/new-password.tsx'
import { type Language, language, languageChoices, t } from '../words/index.ts'
import { speak } from '../words/load.ts'

/** Creates the first administrator, with the link that the gateway printed. */
export function Setup() {
  // Browsers never send a fragment to a server; it is removed from the address at once.
  const [token, setToken] = useState('')
  useEffect(() => {
    const take = (): void => {
      if (!location.hash) return
      setToken(decodeURIComponent(location.hash.replace(/^#(?:token=)?/, '')))
      history.replaceState(null, '', location.pathname)
    }
    take()
    // A link that is pasted into an open tab changes only the fragment.
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  const submit = async (values: Values) => {
    const password = readPassword(values)
    await setUp({ token: token || values.get('token').trim(), name: values.get('name'), password })
  }
  return (
    <div class="stack">
      <Page title={t('setup')} />
      <p class="quiet">{t(token ? 'setup.text' : 'setup.link')}</p>
      <Form submit={t('setup.submit')} onSubmit={submit}>
        <SelectField
          name="language"
          label="语言 Language"
          value={language.value}
          options={languageChoices}
          onInput={value => speak(value as Language)}
        />
        {!token && <TextField name="token" label={t('setup.token')} />}
        <TextField name="name" label={t('user.name')} value="admin" autocomplete="username" />
        <NewPassword label={t('password')} />
      </Form>
    </div>
  )
}
