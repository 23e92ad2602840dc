import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { join, leaveFor } from '../api/session.ts'
import type { Invitation, WaysIn } from '../api/shapes.ts'
import { Facts } from '../kit/facts.tsx'
import { Form, TextField } from '../kit/form.tsx'
import { Issuers } from '../kit/issuers.tsx'
import { NewPassword, readPassword } from '../kit/new-password.tsx'
import { Page } from '../kit/page.tsx'
import { Problem } from '../kit/problem.tsx'
import { Time } from '../kit/time.tsx'
import { t, translate } from '../words/index.ts'

/** The holder of an invitation's link becomes a user here, by a password or by an issuer. */
export function Invite() {
  // Browsers never send a fragment to a server; it is removed from the address at once.
  const [token] = useState(() => decodeURIComponent(location.hash.slice(1)))
  const [invitation, setInvitation] = useState<Invitation | null>(null)
  const [problem, setProblem] = useState<ApiError | null>(null)
  const [name, setName] = useState('')
  const ways = useLoad<WaysIn>('/sign-in')
  useEffect(() => {
    history.replaceState(null, '', location.pathname)
    call<Invitation>('/invitation', { method: 'POST', body: { token } }).then(setInvitation, (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      setProblem(error)
    })
  }, [])
  const chosen = name.trim() === '' ? {} : { name: name.trim() }
  return (
    <div class="stack">
      <Page title={t('invite')} />
      {problem && <Problem error={problem} />}
      {invitation && (
        <>
          <p class="quiet">{t('invite.text')}</p>
          <Facts
            of={[
              ...(invitation.name === null
                ? []
                : [[t('user.name'), <span class="theirs">{invitation.name}</span>] as const]),
              [t('role'), translate(`role.${invitation.role}`)],
              [t('group'), invitation.group],
              [t('invite.by'), <span class="theirs">{invitation.by}</span>],
              [t('invite.until'), <Time at={invitation.expires} />],
            ]}
          />
          {ways.value?.passwords !== false ? (
            <Form
              submit={t('invite.join')}
              onSubmit={values => join({ token, ...chosen, password: readPassword(values) })}
            >
              {invitation.name === null && (
                <TextField name="name" label={t('user.name')} value={name} autocomplete="username" onInput={setName} />
              )}
              <NewPassword label={t('password')} />
            </Form>
          ) : (
            invitation.name === null && (
              <TextField name="name" label={t('user.name')} value={name} autocomplete="username" onInput={setName} />
            )
          )}
          {ways.value && (
            <Issuers of={ways.value} onPick={issuer => leaveFor(issuer, { invitation: token, ...chosen })} />
          )}
        </>
      )}
    </div>
  )
}
