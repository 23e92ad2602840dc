import { useState } from 'preact/hooks'
import { ApiError, call } from '../../api/call.ts'
import type { User } from '../../api/shapes.ts'
import { FieldError } from '../../kit/field-error.ts'
import { Form, TextField } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'

/** Erases a person from everything except the evidence in the ledger; the administrator types the name. */
export function EraseForm({
  of: { name },
  onDone,
  onBusy,
  onClose,
}: {
  readonly of: User
  readonly onDone: () => void
  /** Called if nothing is erased yet, but the user is disabled, and their tokens are revoked. */
  readonly onBusy: () => void
  readonly onClose: () => void
}) {
  const [asksPassword, setAsksPassword] = useState(false)
  return (
    <Form
      submit={t('users.erase')}
      kind="danger"
      onCancel={onClose}
      onSubmit={async values => {
        if (values.get('typed').trim() !== name) throw new FieldError('typed', () => t('users.erase.differs'))
        const body = values.has('password') ? { password: values.get('password') } : {}
        try {
          await call(`/users/${encodeURIComponent(name)}`, { method: 'DELETE', body })
        } catch (error) {
          if (error instanceof ApiError && error.code === 'sign_in_again') setAsksPassword(true)
          if (error instanceof ApiError && error.reason === 'erase_busy') onBusy()
          throw error
        }
        onDone()
      }}
    >
      <p>{t('users.erase.goes')}</p>
      <p class="quiet">{t('users.erase.stays')}</p>
      <TextField name="typed" label={t('users.erase.type')} hint={name} />
      {asksPassword && (
        <TextField name="password" label={t('users.erase.password')} type="password" autocomplete="current-password" />
      )}
    </Form>
  )
}
