import { call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { useSession } from '../api/session.ts'
import type { OpenSession, SessionList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Facts } from '../kit/facts.tsx'
import { Form, SelectField, TextField } from '../kit/form.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { NewPassword, readPassword } from '../kit/new-password.tsx'
import { type Theme, theme, themes } from '../theme.ts'
import { type Language, language, languageChoices, t } from '../words/index.ts'
import { speak } from '../words/load.ts'

/** What a person decides for themselves. */
export function Account() {
  const { user, gateway } = useSession()
  const openSessions = useLoad<SessionList>('/account/sessions')
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
        </section>
        <section class="card">
          <h2>{t('account.password')}</h2>
          <ChangePassword onDone={openSessions.reload} />
        </section>
      </div>
      <h2>{t('account.sessions')}</h2>
      <Loaded of={openSessions}>
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

function OpenSessions({ rows, onEnded }: { readonly rows: readonly OpenSession[]; readonly onEnded: () => void }) {
  const end = async (id: string) => {
    try {
      await call(`/account/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' })
      onEnded()
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), 'bad')
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
              stay.current ? (
                t('account.current')
              ) : (
                <Button onClick={() => void end(stay.id)}>{t('account.end')}</Button>
              ),
          },
        ]}
      />
    </div>
  )
}
