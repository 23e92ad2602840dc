import { useState } from 'preact/hooks'
import { call, queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { sessionState, useMay, useSession } from '../api/session.ts'
import type { BudgetList, Group, GroupList, User, UserList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { FilterBar, FindFilter } from '../kit/filter-bar.tsx'
import { Form, SelectField, TextField } from '../kit/form.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { Table } from '../kit/table.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { Money } from '../kit/money.tsx'
import { Time } from '../kit/time.tsx'
import { Totals } from '../kit/totals.tsx'
import { microsOf } from '../money.ts'
import { count } from '../numbers.ts'
import { say } from '../kit/toast.tsx'
import { NewPassword, readPassword } from '../kit/new-password.tsx'
import { setQuery, useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { AdminTokenDialog, AdminTokens } from './admin-tokens.tsx'
import { InviteDialog, Invitations } from './invitations.tsx'
import { limitText } from './tokens/key-drawer.tsx'
import { CeilingsForm } from './users/ceilings-form.tsx'
import { groupCeilings, userCeilings } from './users/ceiling-lists.tsx'
import { EraseForm } from './users/erase-form.tsx'
import { PlaceFields } from './users/place-fields.tsx'

/** The users who may sign in, and the groups that set limits and multipliers. */
export function Users() {
  const { query, set, path } = useQuery()
  const groups = useLoad<GroupList>('/groups')
  const users = useLoad<UserList>('/users')
  const changes = useMay('admin')
  const chosen = users.value?.users.find(({ name }) => name === query['edit'])
  const requested = query['tab']
  const ofAdmins = requested === 'invitations' || requested === 'admin-tokens'
  const tab = requested === 'groups' || (ofAdmins && changes) ? requested : 'users'
  const close = () => set({ edit: null, new: null })
  const took = (text: string) => {
    users.reload()
    close()
    say(text)
  }
  return (
    <Page
      title={t('nav.users')}
      actions={
        changes && (
          <>
            {tab === 'admin-tokens' && (
              <Button onClick={() => set({ new: 'admin-token' })}>{t('admin_tokens.create')}</Button>
            )}
            <Button onClick={() => set({ new: 'invitation' })}>{t('invitations.create')}</Button>
            <Button kind="primary" icon="plus" onClick={() => set({ new: '1' })}>
              {t('users.create')}
            </Button>
          </>
        )
      }
    >
      <Tabs
        label={t('nav.users')}
        tabs={[
          ['users', t('users')],
          ['groups', t('groups')],
          ...(changes
            ? [['invitations', t('invitations')] as const, ['admin-tokens', t('admin_tokens')] as const]
            : []),
        ]}
        value={tab}
        onPick={tab => set({ tab })}
      >
        {tab === 'admin-tokens' && <AdminTokens key={query['new'] ?? ''} />}
        {tab === 'invitations' && <Invitations key={query['new'] ?? ''} />}
        {tab === 'groups' && (
          <Loaded of={groups} shape="rows">
            {value => <Groups rows={value.groups} />}
          </Loaded>
        )}
        {tab === 'users' && (
          <Loaded of={users} shape="rows">
            {value => (
              <People
                rows={value.users}
                editHref={changes ? name => path + setQuery(query, { edit: name }) : undefined}
              />
            )}
          </Loaded>
        )}
      </Tabs>
      {changes && query['new'] === 'invitation' && <InviteDialog onClose={close} />}
      {changes && query['new'] === 'admin-token' && <AdminTokenDialog onClose={close} />}
      {changes && query['new'] === '1' && <CreateUser onDone={() => took(t('saved'))} onClose={close} />}
      {changes && chosen && (
        <EditUser
          key={chosen.name}
          of={chosen}
          onDone={() => took(t('saved'))}
          onErased={() => took(t('users.erased'))}
          onBusy={users.reload}
          onClose={close}
        />
      )}
    </Page>
  )
}

/** The number of users, and their spending this month. */
function UserTotals({ of }: { readonly of: readonly User[] }) {
  // The same amount as on the budgets page, in the time zone of budgets.
  const { value } = useLoad<BudgetList>('/budgets')
  const { spent, zone } = value?.month ?? { spent: [], zone: '' }
  return (
    <Totals
      of={[
        [t('users'), count(of.length)],
        [t('status.active'), count(of.filter(({ status }) => status === 'active').length)],
        ...spent.map(
          ({ amount, currency }) =>
            [
              t('budgets.month'),
              <a href={`/console${queryText({ range: 'month', zone, by: 'user' })}`} title={t('costs.zone', { zone })}>
                <Money amount={amount} currency={currency} />
              </a>,
            ] as const,
        ),
      ]}
    />
  )
}

function People({
  rows,
  editHref,
}: {
  readonly rows: UserList['users']
  readonly editHref: ((name: string) => string) | undefined
}) {
  const { currency } = useSession().gateway
  const { query, set } = useQuery()
  const find = (query['find'] ?? '').toLowerCase()
  const found = rows.filter(({ name, group }) => `${name} ${group}`.toLowerCase().includes(find))
  return (
    <div class="stack">
      <div class="stack tight">
        <UserTotals of={rows} />
        <FilterBar>
          <FindFilter label={t('users.find')} value={query['find']} isLive onPick={find => set({ find })} />
        </FilterBar>
      </div>
      <div class="sheet">
        <Table
          label={t('users')}
          rows={found}
          rowKey={user => user.name}
          opens={editHref !== undefined}
          columns={[
            {
              head: t('user.name'),
              heading: true,
              wide: true,
              sortBy: user => user.name,
              cell: user =>
                editHref ? (
                  <a class="theirs" href={editHref(user.name)}>
                    {user.name}
                  </a>
                ) : (
                  <span class="theirs">{user.name}</span>
                ),
            },
            { head: t('role'), sortBy: user => user.role, cell: user => t(`role.${user.role}`) },
            { head: t('group'), sortBy: user => user.group, cell: user => user.group },
            { head: t('ceilings'), wide: true, sparse: true, cell: user => userCeilings(user, currency) },
            { head: t('users.login'), cell: user => t(user.has_password ? 'users.has_password' : 'users.no_password') },
            {
              head: t('keys'),
              cell: user => (
                <a class="whole" href={`/console/tokens?user=${encodeURIComponent(user.name)}`}>
                  {t('users.tokens')}
                </a>
              ),
            },
            {
              head: t('tokens.spent'),
              numeric: true,
              sortBy: user => microsOf(user.spent),
              cell: user => (
                <a href={`/console${queryText({ user: user.name })}`}>
                  <Money amount={user.spent} currency={currency} />
                </a>
              ),
            },
            { head: t('tokens.last'), sortBy: user => user.last_used, cell: user => <Time at={user.last_used} /> },
            { head: t('created'), sortBy: user => user.created, cell: user => <Time at={user.created} dayOnly /> },
            { head: t('status'), cell: user => <Status name={user.status} /> },
          ]}
        />
      </div>
    </div>
  )
}

function Groups({ rows }: { readonly rows: readonly Group[] }) {
  const { currency } = useSession().gateway
  return (
    <div class="stack">
      <p class="quiet">{t('groups.text')}</p>
      <div class="sheet">
        <Table
          label={t('groups')}
          rows={rows}
          rowKey={group => group.name}
          columns={[
            { head: t('group'), sortBy: group => group.name, cell: group => group.name },
            { head: t('limits'), cell: group => limitText(group.limits) || t('unlimited') },
            {
              head: t('groups.scope'),
              cell: group => (
                <span class="whole">{t(group.limit_scope === 'user' ? 'groups.per_user' : 'groups.per_key')}</span>
              ),
            },
            { head: t('ceilings'), wide: true, sparse: true, cell: group => groupCeilings(group, currency) },
            { head: t('groups.multiplier'), numeric: true, cell: group => group.multiplier ?? '1' },
            { head: t('users'), numeric: true, sortBy: group => group.users, cell: group => group.users },
            { head: t('keys'), numeric: true, sortBy: group => group.keys, cell: group => group.keys },
          ]}
        />
      </div>
    </div>
  )
}

function CreateUser({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  return (
    <Dialog title={t('users.create')} onClose={onClose}>
      <Form
        submit={t('create')}
        onCancel={onClose}
        onSubmit={async values => {
          const password = values.get('password') === '' ? '' : readPassword(values)
          const body = {
            name: values.get('name').trim(),
            role: values.get('role'),
            group: values.get('group'),
            ...(password !== '' && { password }),
          }
          await call('/users', { method: 'POST', body })
          onDone()
        }}
      >
        <TextField name="name" label={t('user.name')} />
        <PlaceFields />
        <NewPassword label={t('password')} hint={t('users.password.hint')} />
      </Form>
    </Dialog>
  )
}

function EditUser({
  of,
  onDone,
  onErased,
  onBusy,
  onClose,
}: {
  readonly of: User
  readonly onDone: () => void
  readonly onErased: () => void
  readonly onBusy: () => void
  readonly onClose: () => void
}) {
  const [what, setWhat] = useState('settings')
  const session = sessionState.value
  const isOwn = session.kind === 'in' && session.session.user.name === of.name
  const path = `/users/${encodeURIComponent(of.name)}`
  return (
    <Dialog title={<span class="theirs">{of.name}</span>} onClose={onClose}>
      <Tabs
        label={of.name}
        tabs={[
          ['settings', t('users.settings')],
          ['ceilings', t('ceilings')],
          ['password', t('password')],
          ['erase', t('users.erase')],
        ]}
        value={what}
        onPick={setWhat}
      >
        {what === 'ceilings' && <CeilingsForm key="ceilings" of={of} onDone={onDone} onClose={onClose} />}
        {what === 'settings' && (
          <Form
            key="settings"
            submit={t('save')}
            onCancel={onClose}
            onSubmit={async values => {
              const body = Object.fromEntries(['role', 'group', 'status'].map(name => [name, values.get(name)]))
              await call(path, { method: 'PATCH', body })
              onDone()
            }}
          >
            <PlaceFields of={of} />
            <SelectField
              name="status"
              label={t('status')}
              hint={t('users.disabled.hint')}
              value={of.status}
              options={[
                ['active', t('status.active')],
                ['disabled', t('status.disabled')],
              ]}
            />
          </Form>
        )}
        {what === 'erase' && <EraseForm key="erase" of={of} onDone={onErased} onBusy={onBusy} onClose={onClose} />}
        {what === 'password' && isOwn && (
          <p key="own">
            {t('refusal.own_password')} <a href="/console/account">{t('nav.account')}</a>
          </p>
        )}
        {what === 'password' && !isOwn && (
          <Form
            key="password"
            submit={t('save')}
            onCancel={onClose}
            onSubmit={async values => {
              await call(`${path}/password`, { method: 'POST', body: { password: readPassword(values) } })
              onDone()
            }}
          >
            <NewPassword label={t('password.new')} />
          </Form>
        )}
      </Tabs>
    </Dialog>
  )
}
