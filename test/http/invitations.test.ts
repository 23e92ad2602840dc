import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { startSignIns } from '../harness/sign-in.ts'
import { start } from '../harness/start.ts'
import {
  enterAsAdmin,
  enterAsUser,
  movableClock,
  newVisitor,
  passwordOfTests,
  type Visitor,
} from '../harness/visitor.ts'

const password = passwordOfTests

async function inviteBy(admin: Visitor, body: object = {}) {
  const made = await admin.post('/api/invitations', body)
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`)
  const { invitation, link } = made.body as { invitation: { id: string }; link: string }
  return { id: invitation.id, link, token: link.split('#')[1] ?? '' }
}

t.test('an invited person becomes a user once, with the given role and group', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const { token, link, id } = await inviteBy(admin, { role: 'viewer', group: 'partner' })
  t.match(link, new RegExp(`^${started.url}/console/invite#[\\w-]{43}$`))
  const visitor = newVisitor(started.url)
  t.match((await visitor.post('/api/invitation', { token })).body, {
    id,
    name: null,
    role: 'viewer',
    group: 'partner',
    by: 'root',
  })
  const refused: readonly object[] = [
    { token, password },
    { token, password, name: 'boss@example.com' },
    { token, password, name: 'eve', role: 'admin' },
    { token, password: 'short', name: 'eve' },
    { token, password: 'password1234', name: 'eve' },
  ]
  for (const body of refused)
    t.match(await visitor.post('/api/invitation/accept', body), { status: 400, code: 'invalid' }, caseName({ body }))
  t.match(await visitor.post('/api/invitation/accept', { token, password, name: 'root' }), { code: 'conflict' })
  const many = await Promise.all(
    Array.from({ length: 20 }, async (_, i) =>
      newVisitor(started.url).post('/api/invitation/accept', { token, password, name: `eve${i}` }),
    ),
  )
  t.equal(many.filter(one => one.status === 200).length, 1, 'of 20 at once one')
  const users = (await started.gateway.storage.users.list()).filter(user => user.name.startsWith('eve'))
  t.match(users, [{ role: 'viewer', group: 'partner', hasPassword: true }])
  t.same((await admin.get('/api/invitations')).body, { invitations: [] })
  const { rows } = (await admin.get(`/api/audit?subject=${id}`)).body as { rows: object[] }
  t.match(rows, [
    { actor: users[0]?.name, action: 'invitation.use', after: { name: users[0]?.name } },
    { actor: 'root', action: 'invitation.create', after: { role: 'viewer' } },
  ])
  t.notMatch(JSON.stringify(rows), token)
})

t.test(
  'an invitation ends when revoked, expired, its creator no longer an administrator, or its group gone',
  async t => {
    const clock = movableClock()
    const started = await start(t, { upstreams: [], clock })
    const root = await enterAsAdmin(started, clock)
    const second = await enterAsUser(started, root, 'second', 'admin')
    const accept = async (token: string, name: string) =>
      newVisitor(started.url).post('/api/invitation/accept', { token, name, password })
    const back = await inviteBy(root)
    t.equal((await root.ask('DELETE', `/api/invitations/${back.id}`)).status, 204)
    t.equal((await root.ask('DELETE', `/api/invitations/${back.id}`)).status, 404)
    t.match(await accept(back.token, 'a'), { status: 400, code: 'invitation_unknown' }, 'taken back')

    const planted = await inviteBy(second, { role: 'admin' })
    const partner = await inviteBy(root, { group: 'partner' })
    await root.ask('PATCH', '/api/users/second', { role: 'user' })
    clock.forward(60_000)
    t.match(await accept(planted.token, 'b'), { code: 'invitation_unknown' }, 'of a user who may no longer invite')
    t.same(
      ((await root.get('/api/invitations')).body as { invitations: { id: string }[] }).invitations.map(one => one.id),
      [partner.id],
    )
    await started.reload([['  partner:', '  renamed:']])
    clock.forward(60_000)
    t.match(await accept(partner.token, 'c'), { status: 409, code: 'conflict' }, 'into a missing group')

    const short = await inviteBy(root, { hours: 1 })
    clock.forward(3_600_000)
    t.match(await accept(short.token, 'd'), { code: 'invitation_unknown' }, 'too old')
    const guesses = await Promise.all(Array.from({ length: 30 }, async (_, i) => accept(`${i}`.repeat(43), 'e')))
    t.ok(
      guesses.every(one => one.code === 'invitation_unknown' || one.code === 'slow_down'),
      'guesses are slowed down',
    )
    t.ok(
      guesses.some(one => one.code === 'slow_down'),
      'some at least',
    )
  },
)

t.test('an invitation of an admin token works while the token does', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const root = await enterAsAdmin(started, clock)
  const second = await enterAsUser(started, root, 'second', 'admin')
  const makeToken = async (by: Visitor, body: object) => {
    const made = await by.post('/api/admin-tokens', { role: 'admin', ...body })
    return made.body as { token: string; admin_token: { id: string } }
  }
  const inviteWith = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const made = await fetch(`${started.url}/api/invitations`, { method: 'POST', headers, body: '{}' })
    return ((await made.json()) as { link: string }).link.split('#')[1] ?? ''
  }
  const accept = async (token: string, name: string) => {
    // A wrong token delays the next one.
    clock.forward(60_000)
    return newVisitor(started.url).post('/api/invitation/accept', { token, name, password })
  }
  const script = await makeToken(root, { name: 'script' })
  const people = await makeToken(root, { name: 'people', scopes: ['people'] })
  const theirs = await makeToken(second, { name: 'theirs' })
  const short = await makeToken(root, { name: 'short', expires: new Date(clock.now() + 3_600_000).toISOString() })
  const one = await inviteWith(script.token)
  t.match((await newVisitor(started.url).post('/api/invitation', { token: one })).body, { by: 'token script' })
  t.match(await accept(one, 'a'), { status: 200 })
  t.match(await accept(await inviteWith(people.token), 'b'), { status: 200 }, 'of a token with fewer scopes')
  const left = await Promise.all([script, theirs, short].map(async ({ token }) => inviteWith(token)))
  t.equal(((await root.get('/api/invitations')).body as { invitations: object[] }).invitations.length, 3)
  await root.ask('DELETE', `/api/admin-tokens/${script.admin_token.id}`)
  await root.ask('PATCH', '/api/users/second', { role: 'user' })
  clock.forward(3_600_000)
  for (const token of left)
    t.match(await accept(token, 'c'), { code: 'invitation_unknown' }, caseName({ i: left.indexOf(token) }))
  await root.post('/api/session', { name: 'root', password })
  for (const name of ['script', 'theirs', 'short']) await makeToken(root, { name })
  for (const token of left) t.match(await accept(token, 'd'), { code: 'invitation_unknown' }, 'nor of the next token')
})

t.test('an issuer can complete an invitation, but only once', async t => {
  const { started, issuer, admin, signIn, leave, comeBack } = await startSignIns(t)
  issuer.people.set('1', { preferred_username: 'dora' })
  const { token } = await inviteBy(admin, { name: 'dora@example.com', role: 'billing' })
  const first = await signIn('1', { body: { invitation: token } })
  t.match(first.body, { session: { user: { name: 'dora@example.com', role: 'billing', has_password: false } } })
  issuer.people.set('2', { preferred_username: 'thief' })
  t.match(await signIn('2', { body: { invitation: token } }), { status: 400, code: 'invitation_unknown' })
  t.match(await signIn('2'), { code: 'no_account' })

  const open = await inviteBy(admin)
  const [one, two] = [newVisitor(started.url), newVisitor(started.url)]
  issuer.as = '2'
  const here = await issuer.visit(await leave(one, { invitation: open.token, name: 'fay' }))
  issuer.people.set('3', {})
  issuer.as = '3'
  const there = await issuer.visit(await leave(two, { invitation: open.token, name: 'gus' }))
  const both = await Promise.all([comeBack(one, here), comeBack(two, there)])
  t.same(
    both.map(answer => answer.status).toSorted((a, b) => a - b),
    [200, 400],
    'two people with one link',
  )

  const again = await inviteBy(admin)
  t.match(
    (await signIn('1', { body: { invitation: again.token } })).body,
    { session: { user: { name: 'dora@example.com' } } },
    'who has an account is who they are',
  )
  t.equal(
    (await newVisitor(started.url).post('/api/invitation', { token: again.token })).status,
    200,
    'and the invitation is left',
  )
  t.match(
    await newVisitor(started.url).post('/api/sign-in', {
      issuer: 'company',
      invitation: again.token,
      name: 'boss@example.com',
    }),
    { code: 'invalid' },
  )
})

t.test('without passwords only an issuer can complete an invitation', async t => {
  const { started, issuer, signIn } = await startSignIns(t, {
    signIn: { passwords: false },
    own: { roles: { admins: 'admin' }, default_role: 'user', allow_sign_up: true },
  })
  issuer.people.set('1', { preferred_username: 'chief', groups: ['admins'] })
  const { visitor } = await signIn('1')
  const { token } = await inviteBy(visitor, { role: 'viewer', group: 'partner' })
  const answer = await newVisitor(started.url).post('/api/invitation/accept', { token, name: 'x', password })
  t.match([answer.status, answer.code], [403, 'passwords_off'])
  issuer.people.set('2', {})
  t.match(
    (await signIn('2', { body: { invitation: token, name: 'hal' } })).body,
    { session: { user: { name: 'hal', role: 'user', group: 'partner' } } },
    'the groups decide about the role',
  )
})

t.test('the command line invites, lists and revokes', async t => {
  const started = await start(t, { upstreams: [] })
  const made = await runCli(started, 'users', 'invite', '--role', 'billing', '--for', '12h')
  t.match(made.stdout, /^http:\/\/[^\s]+\/console\/invite#[\w-]{43}\n$/)
  const token = made.stdout.trim().split('#')[1] ?? ''
  const entered = await newVisitor(started.url).post('/api/invitation/accept', { token, name: 'cli', password })
  t.match(entered.body, { user: { name: 'cli', role: 'billing', group: 'default' } })
  const json = await runCli(started, 'users', 'invite', '--name', 'ann@example.com', '--format', 'json')
  const { id } = JSON.parse(json.stdout) as { id: string }
  t.match(
    (await runCli(started, 'users', 'invitations')).stdout,
    new RegExp(`${id}\\s+ann@example\\.com\\s+user\\s+default\\s+command line`),
  )
  t.match(await runCli(started, 'users', 'uninvite', id), { code: 0 })
  t.match(await runCli(started, 'users', 'uninvite', id), { code: 1 })
  for (const wrong of [
    ['--for', '91d'],
    ['--for', 'x'],
    ['--role', 'boss'],
    ['--group', 'none'],
    ['--name', 'a b'],
  ])
    t.match(await runCli(started, 'users', 'invite', ...wrong), { code: 2, stdout: '' }, caseName({ wrong }))
  t.match(await runCli(started, 'users', 'invite', '--name', 'cli'), { code: 1 })
})
