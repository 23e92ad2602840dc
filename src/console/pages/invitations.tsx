import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import type { Invitation, InvitationList, Invited } from '../api/shapes.ts'
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
import { PlaceFields } from './users/place-fields.tsx'
import { faultText } from '../kit/problem.tsx'

/** Open invitations. */
export function Invitations() {
  const invitations = useLoad<InvitationList>('/invitations')
  const takeBack = async (id: string) => {
    try {
      await call(`/invitations/${encodeURIComponent(id)}`, { method: 'DELETE' })
      invitations.reload()
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <Loaded of={invitations} shape="rows">
      {({ invitations: rows }) =>
        rows.length === 0 ? <Empty title={t('invitations.none')} /> : <Rows rows={rows} onTakeBack={takeBack} />
      }
    </Loaded>
  )
}

function Rows({
  rows,
  onTakeBack,
}: {
  readonly rows: readonly Invitation[]
  readonly onTakeBack: (id: string) => Promise<void>
}) {
  return (
    <div class="sheet">
      <Table
        label={t('invitations')}
        rows={rows}
        rowKey={({ id }) => id}
        columns={[
          { head: t('user.name'), wide: true, cell: ({ name }) => <span class="theirs">{name ?? '–'}</span> },
          { head: t('role'), cell: ({ role }) => translate(`role.${role}`) },
          { head: t('group'), cell: ({ group }) => group },
          { head: t('invite.by'), cell: ({ by }) => <span class="theirs">{by}</span> },
          { head: t('invite.until'), cell: ({ expires }) => <Time at={expires} /> },
          {
            head: t('system.key.actions'),
            cell: ({ id }) => (
              <Button kind="quiet" onClick={() => onTakeBack(id)}>
                {t('invitations.revoke')}
              </Button>
            ),
          },
        ]}
      />
    </div>
  )
}

const days = [3, 7, 30, 90] as const

/** Creates an invitation, and shows its link once. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [link, setLink] = useState<string | null>(null)
  return (
    <Dialog title={t('invitations.create')} onClose={onClose}>
      {link === null ? (
        <Form
          submit={t('create')}
          onCancel={onClose}
          onSubmit={async values => {
            const name = values.get('name').trim()
            const body = {
              ...(name !== '' && { name }),
              role: values.get('role'),
              group: values.get('group'),
              hours: Number(values.get('days')) * 24,
            }
            setLink((await call<Invited>('/invitations', { method: 'POST', body })).link)
          }}
        >
          <TextField name="name" label={t('user.name')} hint={t('invitations.name.hint')} />
          <PlaceFields />
          <SelectField
            name="days"
            label={t('invitations.for')}
            value="3"
            options={days.map(count => [String(count), t('invitations.days', { count })] as const)}
          />
        </Form>
      ) : (
        <div class="stack">
          <p>{t('invitations.link')}</p>
          <Code text={link} label={t('invitations.link.label')} />
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
