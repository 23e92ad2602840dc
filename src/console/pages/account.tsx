import { useRef, useState } from 'preact/hooks'
import { ApiError, call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { leaveFor, useSession } from '../api/session.ts'
import type { LinkList, OpenSession, SessionList, WaysIn } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { Form, SelectField, TextField } from '../kit/form.tsx'
import { Issuers } from '../kit/issuers.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { faultText } from '../kit/problem.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { NewPassword, readPassword } from '../kit/new-password.tsx'
import { hasShortcuts, turnShortcuts } from '../shortcuts.ts'
import { type Theme, theme, themes } from '../theme.ts'
import { type Language, language, languageChoices, t } from '../words/index.ts'
import { speak } from '../words/load.ts'

/** Settings of the signed-in user. */
export function Account() {
  const { user, gateway } = useSession()
  const openSessions = useLoad<SessionList>('/account/sessions')
  const ways = useLoad<WaysIn>('/sign-in').value
  const links = useLoad<LinkList>('/account/links')
  return (
    <Page title={t('nav.account')}>
      <div class="cards">
        <section class="card">
          <h2>{t('account.you')}</h2>
          <Facts
            of={[
              [t('user.name'), <span class="theirs">{user.name}</span>],
              [t('role'), t(`role.${user.role}`)],
              [t('group'), user.group],
              [t('created'), <Time at={user.created} />],
              [t('account.base'), <code>{gateway.base_url}/v1</code>],
            ]}
          />
        </section>
        <section class="card">
          <h2>{t('account.look')}</h2>
          <SelectField
            name="language"
            label="语言 Language"
            value={language.value}
            options={languageChoices}
            onInput={value => speak(value as Language)}
          />
          <SelectField
            name="theme"
            label={t('theme')}
            value={theme.value}
            options={themes.map(one => [one, t(`theme.${one}`)] as const)}
            onInput={value => (theme.value = value as Theme)}
          />
          <label class="check">
            <input
              type="checkbox"
              role="switch"
              checked={hasShortcuts.value}
              onChange={event => turnShortcuts(event.currentTarget.checked)}
            />
            {t('shortcuts.use')}
          </label>
          <p class="hint">{t('shortcuts.use.hint')}</p>
        </section>
        {user.has_password && (
          <section class="card">
            <h2>{t('account.password')}</h2>
            <ChangePassword onDone={openSessions.reload} />
          </section>
        )}
        {ways && ways.issuers.length > 0 && (
          <section class="card">
            <h2>{t('account.links')}</h2>
            <p class="quiet">{t('account.links.text')}</p>
            <LinkIssuers of={ways} hasPassword={user.has_password} />
            <Loaded of={links}>{value => <Links rows={value.links} onGone={links.reload} />}</Loaded>
          </section>
        )}
      </div>
      <h2>{t('account.sessions')}</h2>
      <Loaded of={openSessions} shape="rows">
        {({ sessions }) => <OpenSessions rows={sessions} onEnded={openSessions.reload} />}
      </Loaded>
    </Page>
  )
}

function ChangePassword({ onDone }: { readonly onDone: () => void }) {
  return (
    <Form
      submit={t('save')}
      onSubmit={async values => {
        const body = { current: values.get('current'), password: readPassword(values) }
        await call('/account/password', { method: 'POST', body })
        say(t('account.password.done'))
        onDone()
      }}
    >
      <TextField name="current" label={t('password.current')} type="password" autocomplete="current-password" />
      <NewPassword label={t('password.new')} />
    </Form>
  )
}

/** Links an issuer. The password is needed if the sign-in was some time ago. */
function LinkIssuers({ of, hasPassword }: { readonly of: WaysIn; readonly hasPassword: boolean }) {
  const [asksPassword, setAsksPassword] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const link = async (issuer: string): Promise<void> => {
    const password = place.current?.querySelector<HTMLInputElement>('[name=password]')?.value
    try {
      await leaveFor(issuer, { link: true, next: '/console/account', ...(password !== undefined && { password }) })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'sign_in_again') setAsksPassword(hasPassword)
      throw error
    }
  }
  return (
    <div ref={place} class="stack">
      {asksPassword && (
        <TextField name="password" label={t('users.erase.password')} type="password" autocomplete="current-password" />
      )}
      <Issuers of={of} onPick={link} />
    </div>
  )
}

/** The issuers that are linked to the user. */
function Links({ rows, onGone }: { readonly rows: LinkList['links']; readonly onGone: () => void }) {
  const untie = async (id: string) => {
    try {
      await call(`/account/links/${encodeURIComponent(id)}`, { method: 'DELETE' })
      onGone()
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <ul class="links">
      {rows.map(({ id, issuer, created }) => (
        <li key={id}>
          <span class="theirs">{issuer}</span>
          <Time at={created} />
          <Button onClick={() => untie(id)}>{t('account.links.untie')}</Button>
        </li>
      ))}
    </ul>
  )
}

function OpenSessions({ rows, onEnded }: { readonly rows: readonly OpenSession[]; readonly onEnded: () => void }) {
  const end = async (id: string) => {
    try {
      await call(`/account/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' })
      onEnded()
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <div class="sheet">
      <Table
        label={t('account.sessions')}
        rows={rows}
        rowKey={stay => stay.id}
        columns={[
          { head: t('agent'), wide: true, cell: stay => <span class="theirs">{stay.agent || '–'}</span> },
          { head: t('account.remote'), cell: stay => <code>{stay.remote}</code> },
          { head: t('account.began'), cell: stay => <Time at={stay.created} /> },
          { head: t('account.seen'), cell: stay => <Time at={stay.seen} /> },
          {
            head: t('account.end'),
            cell: stay =>
              stay.current ? t('account.current') : <Button onClick={() => end(stay.id)}>{t('account.end')}</Button>,
          },
        ]}
      />
    </div>
  )
}
