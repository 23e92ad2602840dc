import { useState } from 'preact/hooks'
import { ApiError, call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { AdminToken, AdminTokenList, NewAdminToken } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Code } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Empty } from '../kit/empty.tsx'
import { Form, SelectField, TextField } from '../kit/form.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Table } from '../kit/table.tsx'
import { Time } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'
import { t, translate } from '../words/index.ts'

const scopes = ['read', 'keys', 'people', 'money', 'config'] as const
const roles = ['viewer', 'billing', 'admin'] as const

/** The tokens of programs that administer the gateway. */
export function AdminTokens() {
  const tokens = useLoad<AdminTokenList>('/admin-tokens')
  const [selected, setSelected] = useState<AdminToken | null>(null)
  return (
    <div class="stack">
      <p class="quiet">{t('admin_tokens.text')}</p>
      <Loaded of={tokens} shape="rows">
        {({ tokens: rows }) =>
          rows.length === 0 ? <Empty title={t('admin_tokens.none')} /> : <Rows rows={rows} onRevoke={setSelected} />
        }
      </Loaded>
      {selected && (
        <RevokeDialog
          of={selected}
          onDone={() => {
            setSelected(null)
            tokens.reload()
            say(t('saved'))
          }}
          onClose={() => setSelected(null)}
        />
      )}
    </div>
  )
}

function Rows({
  rows,
  onRevoke,
}: {
  readonly rows: readonly AdminToken[]
  readonly onRevoke: (token: AdminToken) => void
}) {
  return (
    <div class="sheet">
      <Table
        label={t('admin_tokens')}
        rows={rows}
        rowKey={({ id }) => id}
        columns={[
          {
            head: t('admin_tokens.name'),
            wide: true,
            cell: ({ name, hint }) => (
              <>
                <span class="theirs">{name}</span> <code>{hint}</code>
              </>
            ),
          },
          { head: t('role'), cell: ({ role }) => translate(`role.${role}`) },
          { head: t('admin_tokens.scopes'), wide: true, cell: token => scopeText(token) },
          { head: t('admin_tokens.ips'), cell: ({ ips }) => ips?.join(', ') ?? t('admin_tokens.anywhere') },
          { head: t('admin_tokens.by'), cell: ({ by }) => <span class="theirs">{by}</span> },
          { head: t('tokens.expires'), cell: ({ expires }) => (expires ? <Time at={expires} /> : t('never')) },
          {
            head: t('admin_tokens.used'),
            cell: ({ last_used: used }) => (used ? <Time at={used} /> : t('never')),
          },
          {
            head: t('system.key.actions'),
            cell: token => <Button onClick={() => onRevoke(token)}>{t('invitations.revoke')}</Button>,
          },
        ]}
      />
    </div>
  )
}

function scopeText({ scopes: own }: AdminToken): string {
  if (own.length === scopes.length) return t('admin_tokens.all')
  return own.map(scope => translate(`admin_tokens.scope.${scope}`)).join(', ')
}

/** Revoking stops programs at once, so the dialog repeats the name. */
function RevokeDialog({
  of: { id, name },
  onDone,
  onClose,
}: {
  readonly of: AdminToken
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  return (
    <Dialog title={t('admin_tokens.revoke')} onClose={onClose}>
      <Form
        submit={t('invitations.revoke')}
        kind="danger"
        onCancel={onClose}
        onSubmit={async () => {
          await call(`/admin-tokens/${encodeURIComponent(id)}`, { method: 'DELETE' })
          onDone()
        }}
      >
        <p>{t('admin_tokens.revoke.text', { name })}</p>
      </Form>
    </Dialog>
  )
}

const days = [30, 90, 365, 0] as const

/** Creates an admin token, and shows its secret once. */
export function AdminTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <Dialog title={t('admin_tokens.create')} onClose={onClose}>
      {secret === null ? (
        <NewTokenForm onMade={setSecret} onClose={onClose} />
      ) : (
        <div class="stack">
          <p>{t('admin_tokens.once')}</p>
          <Code text={secret} label={t('admin_tokens.secret')} />
          <div class="form-end">
            <Button kind="primary" onClick={onClose}>
              {t('close')}
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  )
}

function NewTokenForm({
  onMade,
  onClose,
}: {
  readonly onMade: (secret: string) => void
  readonly onClose: () => void
}) {
  const [asksPassword, setAsksPassword] = useState(false)
  return (
    <Form
      submit={t('create')}
      onCancel={onClose}
      onSubmit={async values => {
        const length = Number(values.get('days'))
        const ips = values
          .get('ips')
          .split(/[\s,]+/)
          .filter(Boolean)
        const body = {
          name: values.get('name').trim(),
          role: values.get('role'),
          scopes: scopes.filter(scope => scope === 'read' || values.has(`scope-${scope}`)),
          expires: length === 0 ? null : new Date(Date.now() + length * 86_400_000).toISOString(),
          ips: ips.length === 0 ? null : ips,
          ...(values.has('password') && { password: values.get('password') }),
        }
        try {
          onMade((await call<NewAdminToken>('/admin-tokens', { method: 'POST', body })).token)
        } catch (error) {
          if (error instanceof ApiError && error.code === 'sign_in_again') setAsksPassword(true)
          throw error
        }
      }}
    >
      <TextField name="name" label={t('admin_tokens.name')} hint={t('admin_tokens.name.hint')} />
      <div class="row">
        <SelectField
          name="role"
          label={t('role')}
          value="admin"
          options={roles.map(role => [role, t(`role.${role}`)] as const)}
        />
        <SelectField
          name="days"
          label={t('invitations.for')}
          value="90"
          options={days.map(
            count => [String(count), count === 0 ? t('never_expires') : t('invitations.days', { count })] as const,
          )}
        />
      </div>
      <fieldset class="form">
        <legend>{t('admin_tokens.scopes')}</legend>
        {scopes.map(scope => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name={`scope-${scope}`}
              defaultChecked={scope === 'read'}
              disabled={scope === 'read'}
            />
            {t(`admin_tokens.scope.${scope}`)}
          </label>
        ))}
      </fieldset>
      <TextField name="ips" label={t('admin_tokens.ips')} hint={t('admin_tokens.ips.hint')} />
      {asksPassword && (
        <TextField name="password" label={t('users.erase.password')} type="password" autocomplete="current-password" />
      )}
    </Form>
  )
}
