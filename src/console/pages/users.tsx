import { useState } from 'preact/hooks'
import { call, queryText } from '../api/call.ts'
import { useLoad } from '../api/load.ts'
import { sessionState, useMay, useSession } from '../api/session.ts'
import type { BudgetMonth, Group, GroupList, User, UserList } from '../api/shapes.ts'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Empty } from '../kit/empty.tsx'
import { FilterBar, FindFilter } from '../kit/filter-bar.tsx'
import { Form, SelectField, TextField } from '../kit/form.tsx'
import { Kept, Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Pager } from '../kit/pager.tsx'
import { Problem } from '../kit/problem.tsx'
import { Status } from '../kit/status.tsx'
import { type Column, Table } from '../kit/table.tsx'
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

const pageRows = 100

/** The users who may sign in, and the groups that set limits and multipliers. */
export function Users() {
  const { query, set, path } = useQuery()
  const groups = useLoad<GroupList>('/groups')
  const changes = useMay('admin')
  const requested = query['tab']
  const ofAdmins = requested === 'invitations' || requested === 'admin-tokens'
  const tab = requested === 'groups' || (ofAdmins && changes) ? requested : 'users'
  const search = { limit: pageRows, after: query['before'], search: query['find'] }
  const users = useLoad<UserList>(tab === 'users' ? `/users${queryText(search)}` : null)
  const close = () => set({ edit: null, new: null, before: query['before'] })
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
          <div class="stack">
            <div class="stack tight">
              <Kept of={users}>{value => <UserTotals of={value} />}</Kept>
              <FilterBar>
                <FindFilter
                  label={t('users.find')}
                  value={query['find']}
                  isLive
                  pauseMs={200}
                  onPick={find => set({ find })}
                />
              </FilterBar>
            </div>
            <Loaded of={users} shape="rows">
              {value => (
                <People
                  of={value}
                  busy={users.loading}
                  editHref={changes ? name => path + setQuery(query, { edit: name }) : undefined}
                />
              )}
            </Loaded>
          </div>
        )}
      </Tabs>
      {changes && query['new'] === 'invitation' && <InviteDialog onClose={close} />}
      {changes && query['new'] === 'admin-token' && <AdminTokenDialog onClose={close} />}
      {changes && query['new'] === '1' && <CreateUser onDone={() => took(t('saved'))} onClose={close} />}
      {changes && query['edit'] && (
        <EditUser
          key={query['edit']}
          name={query['edit']}
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
function UserTotals({ of }: { readonly of: UserList }) {
  // The same amount as on the budgets page, in the time zone of budgets.
  const { value } = useLoad<BudgetMonth>('/budgets/month')
  const { spent, zone } = value?.month ?? { spent: [], zone: '' }
  return (
    <Totals
      of={[
        [t('users'), count(of.count)],
        [t('status.active'), count(of.active)],
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
  of,
  busy,
  editHref,
}: {
  readonly of: UserList
  readonly busy: boolean
  readonly editHref: ((name: string) => string) | undefined
}) {
  const { currency } = useSession().gateway
  const { query } = useQuery()
  return (
    <div class="stack">
      {of.users.length === 0 ? (
        <Empty title={t('users.none.found')} />
      ) : (
        <div class="sheet">
          <Table
            label={t('users')}
            rows={of.users}
            rowKey={user => user.name}
            opens={editHref !== undefined}
            columns={userColumns(currency, editHref, of.next === null && !query['before'])}
          />
        </div>
      )}
      <Pager next={of.next} busy={busy} isByTime={false} />
    </div>
  )
}

type ListedUser = UserList['users'][number]

/** `isWhole`: the rows are all users, so that they can be sorted here. */
function userColumns(
  currency: string,
  editHref: ((name: string) => string) | undefined,
  isWhole: boolean,
): readonly Column<ListedUser>[] {
  const sorted = (sortBy: NonNullable<Column<ListedUser>['sortBy']>) => isWhole && { sortBy }
  return [
    {
      head: t('user.name'),
      heading: true,
      wide: true,
      ...sorted(user => user.name),
      cell: user =>
        editHref ? (
          <a class="theirs" href={editHref(user.name)}>
            {user.name}
          </a>
        ) : (
          <span class="theirs">{user.name}</span>
        ),
    },
    { head: t('role'), ...sorted(user => user.role), cell: user => t(`role.${user.role}`) },
    { head: t('group'), ...sorted(user => user.group), cell: user => user.group },
    { head: t('ceilings'), wide: true, sparse: true, cell: user => userCeilings(user, currency) },
    { head: t('users.login'), cell: user => t(user.has_password ? 'users.has_password' : 'users.no_password') },
    {
      head: t('keys'),
      cell: user => (
        <a class="whole" href={`/console/tokens?user=${encodeURIComponent(user.name)}`}>
          {t('keys')}
        </a>
      ),
    },
    {
      head: t('tokens.spent'),
      numeric: true,
      ...sorted(user => microsOf(user.spent)),
      cell: user => (
        <a href={`/console${queryText({ user: user.name })}`}>
          <Money amount={user.spent} currency={currency} />
        </a>
      ),
    },
    { head: t('tokens.last'), ...sorted(user => user.last_used), cell: user => <Time at={user.last_used} /> },
    { head: t('created'), ...sorted(user => user.created), cell: user => <Time at={user.created} dayOnly /> },
    { head: t('status'), cell: user => <Status name={user.status} /> },
  ]
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
            { head: t('users'), numeric: true, sortBy: group => group.users, cell: group => count(group.users) },
            { head: t('keys'), numeric: true, sortBy: group => group.keys, cell: group => count(group.keys) },
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

type EditProps = {
  readonly onDone: () => void
  readonly onErased: () => void
  readonly onBusy: () => void
  readonly onClose: () => void
}

/** Loads the user each time it opens: the list may have old values, and has not every user. */
function EditUser({ name, onBusy, ...rest }: EditProps & { readonly name: string }) {
  const { value, error, reload } = useLoad<User>(`/users/${encodeURIComponent(name)}`)
  const busy = () => {
    reload()
    onBusy()
  }
  if (value) return <UserDialog of={value} onBusy={busy} {...rest} />
  if (!error) return null
  return (
    <Dialog title={<span class="theirs">{name}</span>} onClose={rest.onClose}>
      <Problem error={error} />
    </Dialog>
  )
}

function UserDialog({ of, onDone, onErased, onBusy, onClose }: EditProps & { readonly of: User }) {
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
              const changed = ['role', 'group', 'status'].filter(name => values.isChanged(one => one === name))
              if (changed.length === 0) return onClose()
              const body = Object.fromEntries(changed.map(name => [name, values.get(name)]))
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
