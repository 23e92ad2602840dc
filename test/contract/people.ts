import type { Test } from 'tap'
import type { Key, SavedView, Session, User } from '../../src/domain/index.ts'
import { budgetUsed, viewsMax } from '../../src/domain/index.ts'
import { eachPage } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt, type Harness, holdOf, line, newKey } from './storage.ts'

const day = 86_400_000
/** The last minute of a month. */
const monthEnd = Date.UTC(2026, 10, 30, 23, 59)
const by = 'ada'

/** Returns SQL for the numbers 1 to `count`, in syntax that every database supports. */
const numbers = (count: number): string =>
  `WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ${count}) SELECT value FROM n`

/** Tests of keys, users, sessions and the trail for every storage driver, through the port alone. */
export async function peopleContract(t: Test, make: Harness): Promise<void> {
  const clock = clockAt(monthEnd)
  const harness = await make()
  const storage = await harness.open('gateway', clock)
  t.teardown(async () => {
    await storage.close()
    await harness.close()
  })
  const { keys, users, sessions, signIn, trail, ledger, books, adminTokens } = storage

  /** Returns the trail of one subject, oldest first, without fields that differ between runs. */
  const trailOf = async (subject: string) =>
    (await trail.list({ limit: 50, subject })).toReversed().map(row => {
      t.equal(row.at, clock.now())
      const { actor, action, before, after, reason } = row
      return { actor, action, before, after, reason }
    })

  await t.test('a key update changes only the named settings, and the trail has both values', async t => {
    const key = await keys.create(newKey({ name: 'one', budget: 5, limits: { rpm: 3 } }), by)
    const limits = { rpm: 1, concurrency: 2 }
    const changed = await keys.change(key.id, { name: 'two', ips: ['10.0.0.0/8'], limits, budget: null }, 'bob')
    const bounds = { ips: { to: ['10.0.0.0/8'], by: 'bob' }, limits: { to: limits, by: 'bob' } }
    t.same(changed, { ...key, name: 'two', ips: ['10.0.0.0/8'], limits, budget: null, bounds })
    t.same(await keys.find(key.id), changed)
    t.match(await keys.change(key.id, { status: 'disabled', expiresAt: 7, budgetPeriod: 'day' }, by), {
      status: 'disabled',
      expiresAt: 7,
      budgetPeriod: 'day',
    })
    t.same(await keys.change(key.id, { status: 'disabled' }, by), await keys.find(key.id))
    const [made, ...rest] = await trailOf(key.id)
    t.match(made, { actor: by, action: 'key.create', before: null, after: { user: 'local', name: 'one', budget: 5 } })
    t.same(rest, [
      {
        actor: 'bob',
        action: 'key.change',
        before: { name: 'one', ips: null, limits: { rpm: 3 }, budget: 5 },
        after: { name: 'two', ips: ['10.0.0.0/8'], limits, budget: null },
        reason: null,
      },
      {
        actor: by,
        action: 'key.change',
        before: { status: 'active', expiresAt: null, budgetPeriod: 'total' },
        after: { status: 'disabled', expiresAt: 7, budgetPeriod: 'day' },
        reason: null,
      },
    ])
  })

  await t.test("a holder lowers and raises settings up to an administrator's bound, in one transaction", async t => {
    const key = await keys.create(newKey({ budget: 10 }), by)
    t.match(await keys.changeOwn(key.id, { budget: 4 }, 'local'), { budget: 4 })
    t.match(await keys.changeOwn(key.id, { budget: null }, 'local'), { refused: { field: 'budget', by } })
    t.match(await keys.changeOwn(key.id, { budget: 10 }, 'local'), { budget: 10 })
    await users.create({ name: 'bounded', group: 'default', role: 'user', passwordHash: null })
    await users.change('bounded', { keysMax: 3, keyBounds: { models: { to: ['m'], by } } }, by)
    t.match(await users.find('bounded'), { keysMax: 3, keyBounds: { models: { to: ['m'], by } } })
    const made = await Promise.all(
      Array.from({ length: 8 }, async () => keys.createOwn(newKey({ user: 'bounded' }), 'bounded', 100)),
    )
    t.equal(made.filter(one => 'refused' in one).length, 5, 'of many at once as many as may be')
    t.ok((await keys.list({ user: 'bounded' })).every(one => one.models?.join() === 'm'))
    await users.create({ name: 'grouped', group: 'default', role: 'user', passwordHash: null })
    t.match(await keys.createOwn(newKey({ user: 'grouped' }), 'grouped', 0), { refused: { by: 'group default' } })
    t.match(await keys.createOwn(newKey({ user: 'grouped', kind: 'session' }), 'grouped', 0), { user: 'grouped' })
    await t.rejects(Promise.resolve(keys.createOwn(newKey({ user: 'nobody' }), 'nobody')), { code: 'user_unknown' })
    t.equal(await keys.changeOwn('key_none', {}, 'x'), undefined)
  })

  await t.test('a rotated key is found by both secrets until the old one ends, and by no earlier one', async t => {
    const key = await keys.create(newKey({ hash: 'first', hint: 'a…1' }))
    const until = clock.now() + 1_000
    const rotated = await keys.rotate(key.id, { hash: 'second', hint: 'b…2', overlapMs: 1_000 }, by)
    t.same(rotated, { ...key, hint: 'b…2', oldUntil: until })
    t.same(await keys.findByHash('second'), rotated)
    t.same(await keys.findByHash('first'), { ...key, hint: 'b…2', oldUntil: until, expiresAt: until })
    await keys.rotate(key.id, { hash: 'third', hint: 'c…3', overlapMs: 0 }, by)
    t.equal(await keys.findByHash('first'), undefined)
    t.match(await keys.findByHash('second'), { id: key.id, expiresAt: clock.now() })
    t.match(await keys.findByHash('third'), { id: key.id, expiresAt: null })
    t.match(await trailOf(key.id), [
      { action: 'key.create' },
      { action: 'key.rotate', before: { hint: 'a…1', oldUntil: null }, after: { hint: 'b…2', oldUntil: until } },
      { action: 'key.rotate', before: { hint: 'b…2', oldUntil: until }, after: { hint: 'c…3' } },
    ])
    t.notMatch(JSON.stringify(await trailOf(key.id)), /first|second|third/, 'no secret, not even its hash')
  })

  await t.test('an expiry before the end of the overlap ends both secrets', async t => {
    const key = await keys.create(newKey({ hash: 'x1', expiresAt: clock.now() + 5 }))
    await keys.rotate(key.id, { hash: 'x2', hint: 'x', overlapMs: 1_000 }, by)
    for (const hash of ['x1', 'x2']) t.match(await keys.findByHash(hash), { expiresAt: clock.now() + 5 })
  })

  await t.test('a revoked key stays revoked: no change, no new secret, no second revocation', async t => {
    const key = await keys.create(newKey())
    t.equal(await keys.revoke(key.id, by), true)
    t.equal(await keys.revoke(key.id, by), false)
    t.equal(await keys.change(key.id, { status: 'active' }, by), undefined)
    t.equal(await keys.rotate(key.id, { hash: 'r', hint: 'r', overlapMs: 0 }, by), undefined)
    t.equal(await keys.change('key_none', { name: 'x' }, by), undefined)
    t.equal(await keys.find('key_none'), undefined)
    t.match(await keys.find(key.id), { status: 'revoked' })
    t.match(await trailOf(key.id), [
      { action: 'key.create' },
      { actor: by, action: 'key.revoke', before: { status: 'active' }, after: { status: 'revoked' } },
    ])
  })

  await t.test("of two changes at once each finds the other's result", async t => {
    const key = await keys.create(newKey())
    const tool = await harness.open('tool', clock)
    const names = Array.from({ length: 20 }, (_, i) => `name ${i}`)
    await Promise.all(names.map((name, i) => Promise.resolve((i % 2 ? keys : tool.keys).change(key.id, { name }, by))))
    await tool.close()
    const rows = (await trail.list({ limit: 100, subject: key.id })).filter(row => row.action === 'key.change')
    const steps = new Map(rows.map(row => [row.before?.['name'], row.after?.['name']]))
    let name: unknown = 'a key'
    for (const _ of names) name = steps.get(name)
    t.equal(name, (await keys.find(key.id))?.name, 'the trail is one way from the first name to the last')
  })

  await t.test('changes move the revision and new keys do not: caches keep everything', async t => {
    const before = [await keys.revision(), keys.ownChanges()]
    const key = await keys.create(newKey())
    await keys.create(newKey({ kind: 'session', name: 'a session’s' }))
    t.same([await keys.revision(), keys.ownChanges()], before)
    let [revision = 0, own = 0] = before
    for (const change of [
      () => keys.change(key.id, { budget: 1 }, by),
      () => keys.rotate(key.id, { hash: 'revision', hint: 'x', overlapMs: 1 }, by),
      () => users.change('local', { group: 'partner' }, by),
      () => keys.revoke(key.id, by),
    ]) {
      await change()
      t.ok((await keys.revision()) > revision && keys.ownChanges() > own)
      ;[revision, own] = [await keys.revision(), keys.ownChanges()]
    }
    await users.change('local', { group: 'default' }, by)
  })

  await t.test('[9.7] changes since a revision are named, unless there are too many', async t => {
    const [one, two] = [await keys.create(newKey()), await keys.create(newKey())]
    const [before, own] = [await keys.revision(), keys.ownChanges()]
    const readChanges = async () => [await keys.changesSince(before), keys.ownChangesSince(own)]
    const changed = (ids: readonly string[], names: readonly string[] = []) => {
      const changes = { keys: new Set(ids), users: new Set(names) }
      return [changes, changes]
    }
    t.same(keys.ownChangesSince(own), { keys: new Set(), users: new Set() })
    await keys.change(two.id, { budget: 7 }, by)
    await keys.rotate(two.id, { hash: 'changes', hint: 'x', overlapMs: 1 }, by)
    t.same(await readChanges(), changed([two.id]))
    await users.change('local', { group: 'partner' }, by)
    await keys.revoke(one.id, by)
    t.same(await readChanges(), changed([one.id, two.id], ['local']))
    await users.change('local', { group: 'default' }, by)
    t.same(await keys.changesSince((await keys.revision()) - 1), { keys: new Set(), users: new Set(['local']) })
    t.equal(await keys.changesSince((await keys.revision()) + 1), undefined, 'a copy from before was put back')
    t.equal(await keys.changesSince(-1), undefined)
    t.equal(keys.ownChangesSince(keys.ownChanges() + 1), undefined)
    await harness.edit(`UPDATE meta SET value = value + 1 WHERE name = 'key_revision'`)
    t.equal(await keys.changesSince(before), undefined, 'no change is named')
    t.equal(await keys.changesSince((await keys.revision()) - 1), undefined)
    t.same(await keys.changesSince(await keys.revision()), { keys: new Set(), users: new Set() })
    const later = await keys.revision()
    for (let i = 0; i < 1_000; i++) await keys.change(two.id, { budget: i }, by)
    t.equal(await keys.changesSince(later), undefined, 'very many')
    t.equal(keys.ownChangesSince(own), undefined)
    const rows = await harness.read('SELECT count(*) AS count FROM key_change')
    t.ok(Number(rows[0]?.['count']) <= 1_000, 'old ones go')
  })

  await t.test('keys are paged newest first, also by user; session keys only on request', async t => {
    await users.create({ name: 'pages', group: 'default', role: 'user', passwordHash: null })
    const made: Key[] = []
    for (let i = 0; i < 7; i++) made.push(await keys.create(newKey({ user: 'pages' })))
    const hidden = await keys.create(newKey({ user: 'pages', kind: 'session' }))
    const ids = async (filter: object) => (await keys.list({ user: 'pages', ...filter })).map(key => key.id)
    const wanted = made.map(key => key.id).toReversed()
    t.same(await ids({}), wanted)
    t.same(await ids({ limit: 3 }), wanted.slice(0, 3))
    t.same(await ids({ limit: 3, before: wanted[2] }), wanted.slice(3, 6))
    t.same(await ids({ sessions: true, limit: 2 }), [hidden.id, wanted[0]])
    t.same((await keys.list({ limit: 1 }))[0]?.id, wanted[0])
    const found = await keys.create(newKey({ user: 'pages', name: 'Night_job 50%' }))
    for (const search of ['night_', 'JOB 50%', '_'])
      t.same(await ids({ search }), [found.id], `a part of the name, as it is written: ${search}`)
    t.same(await ids({ search: 'n%job' }), [])
    t.equal(await keys.count(), (await keys.list({ limit: 1_000 })).length)
    await keys.create(newKey({ user: 'pages', group: 'partner', budget: null }))
    await keys.create(newKey({ user: 'pages', budget: 5 }))
    await keys.revoke(found.id)
    const all = await keys.list({ limit: 1_000 })
    const own = all.filter(({ user }) => user === 'pages')
    t.same(
      (await keys.list({ user: 'pages', ownRules: true })).map(({ id }) => id),
      own.filter(({ budget, group }) => budget !== null || group !== null).map(({ id }) => id),
    )
    for (const [user, some] of [
      [undefined, all],
      ['pages', own],
      ['nobody', []],
    ] as const)
      t.same(
        await keys.totals(user),
        {
          keys: some.length,
          active: some.filter(({ status }) => status === 'active').length,
          spent: some.reduce((sum, { spent }) => sum + spent, 0),
          held: some.reduce((sum, { held }) => sum + held, 0),
        },
        caseName({ user }),
      )
    const people = await users.list()
    const names = people.map(({ name }) => name)
    t.same(
      await users.totals(),
      { count: names.length, active: people.filter(({ status }) => status === 'active').length },
      'counts the users',
    )
    const namesOf = async (filter: Parameters<typeof users.list>[0]) => (await users.list(filter)).map(one => one.name)
    const pages: string[] = []
    for await (const page of eachPage<User>(2, last => users.list({ limit: 2, ...(last && { after: last.name }) })))
      pages.push(...page.map(({ name }) => name))
    t.same(pages, names, 'pages have each user once')
    t.same(await namesOf({ limit: 9, search: 'PAGE' }), ['pages'], 'by a part of the name, in any case')
    t.same(await namesOf({ limit: 9, search: 'p%s' }), [], 'as it is written')
    t.same(
      await namesOf({ limit: 99, search: 'artne' }),
      people.filter(({ name, group }) => `${name} ${group}`.includes('artne')).map(({ name }) => name),
      'by a part of the group',
    )
    const members = await keys.members()
    t.same(
      members.toSorted((a, b) => (a.group < b.group ? -1 : 1)),
      [...new Set([...people.map(({ group }) => group), 'partner'])].toSorted().map(group => ({
        group,
        users: people.filter(one => one.group === group).length,
        activeUsers: people.filter(one => one.group === group && one.status === 'active').length,
        keys: all.filter(one => one.status === 'active' && (one.group ?? one.userGroup) === group).length,
      })),
    )
    t.match(await trailOf(hidden.id), [])
  })

  await t.test('users are changed as requested; a disabled one loses sessions and their keys', async t => {
    await users.create({ name: 'eve', group: 'default', role: 'user', passwordHash: null }, by)
    const { hash } = newKey()
    await keys.create(newKey({ user: 'eve', hash }))
    await sessions.create(session('eve-1', 'eve'))
    t.match(await users.change('eve', { group: 'partner', role: 'admin' }, by), { group: 'partner', role: 'admin' })
    t.equal(await sessions.find('eve-1'), undefined, 'permissions are decided at the sign-in')
    await sessions.create(session('eve-1', 'eve'))
    t.match(await sessions.find('eve-1'), { user: { name: 'eve', role: 'admin' } })
    t.match(await users.change('eve', { group: 'default' }, by), { group: 'default' })
    t.match(await sessions.find('eve-1'), { user: { group: 'default' } }, 'a group is not a role')
    await users.change('eve', { group: 'partner' }, by)
    t.match(await users.change('eve', { status: 'disabled' }, by), { status: 'disabled' })
    t.equal(await sessions.find('eve-1'), undefined)
    t.match(await keys.findByHash(hash), { status: 'active', userStatus: 'disabled', userGroup: 'partner' })
    t.match(await users.change('eve', { status: 'active' }, by), { status: 'active' })
    t.equal(await sessions.find('eve-1'), undefined, 'a returning user signs in again')
    t.equal(await users.change('nobody', { role: 'admin' }, by), undefined)
    t.match(await users.find('eve'), { group: 'partner', role: 'admin', hasPassword: false })
    t.equal(await users.find('nobody'), undefined)
    t.match(await trailOf('eve'), [
      { action: 'user.create', before: null, after: { group: 'default', role: 'user' } },
      { action: 'user.change', before: { group: 'default', role: 'user' }, after: { group: 'partner', role: 'admin' } },
      { action: 'user.change', before: { group: 'partner' }, after: { group: 'default' } },
      { action: 'user.change', before: { group: 'default' }, after: { group: 'partner' } },
      { action: 'user.change', before: { status: 'active' }, after: { status: 'disabled' } },
      { action: 'user.change', before: { status: 'disabled' }, after: { status: 'active' } },
    ])
  })

  function session(hash: string, user: string, more: Partial<Session> = {}): Session {
    const now = clock.now()
    return {
      hash,
      user,
      createdAt: now,
      seenAt: now,
      expiresAt: now + 60_000,
      agent: 'a browser',
      remote: '::1',
      ...more,
    }
  }

  await t.test('a session is valid until its end, and a new password ends all but the given one', async t => {
    await users.create({ name: 'sid', group: 'default', role: 'user', passwordHash: 'old' })
    const [here, there] = [session('here', 'sid'), session('there', 'sid', { createdAt: clock.now() + 1 })]
    await sessions.create(here)
    await sessions.create(there)
    await sessions.create(session('over', 'sid', { expiresAt: clock.now() }))
    t.same(await sessions.find('here'), { session: here, user: await users.find('sid') })
    t.equal(await sessions.find('over'), undefined)
    t.same(await sessions.list('sid'), [there, here])
    await sessions.touch('here')
    t.match(await sessions.find('here'), { session: { seenAt: clock.now() } })
    t.equal(await users.passwordHash('sid'), 'old')
    t.equal(await users.setPassword('sid', 'new', 'sid', 'here'), true)
    t.equal(await users.setPassword('sid', 'newer', 'sid', 'there'), false, 'by a session that has ended')
    t.equal(await users.passwordHash('sid'), 'new')
    t.equal(await sessions.create(session('late', 'sid'), 'old'), false, 'after a sign-in with the old password')
    t.equal(await sessions.create(session('right', 'sid'), 'new'), true)
    t.equal(await sessions.create(session('nobody', 'nobody'), 'new'), false)
    await users.change('sid', { status: 'disabled' }, by)
    t.equal(await sessions.create(session('late', 'sid')), false, 'of a disabled user')
    await users.change('sid', { status: 'active' }, by)
    t.equal(await sessions.find('late'), undefined)
    await sessions.create(here)
    t.equal(await users.passwordHash('sid'), 'new')
    t.same(
      (await sessions.list('sid')).map(one => one.hash),
      ['here'],
    )
    await sessions.end('here')
    t.same(await sessions.list('sid'), [])
    t.equal(await users.passwordHash('nobody'), undefined)
    const [, password] = await trailOf('sid')
    t.same(password, { actor: 'sid', action: 'user.password', before: null, after: null, reason: null })
  })

  await t.test('views belong to one user, in order of creation, up to a maximum', async t => {
    const { views } = storage
    for (const name of ['vera', 'walt'])
      await users.create({ name, group: 'default', role: 'user', passwordHash: null })
    const page = '/console/logs'
    const view = (name: string, query = `?model=${name}`): SavedView => ({ page, name, query })
    const [a, b, c] = [view('a'), view('b'), view('c')]
    for (const one of [a, b, c]) t.equal(await views.put('vera', one), true, one.name)
    t.same(await views.list('vera'), [a, b, c])
    t.same(await views.list('walt'), [], "another's")
    t.equal(await views.put('vera', view('d', '?x=1'), 'b'), true)
    t.same(await views.list('vera'), [a, view('d', '?x=1'), c], 'another name')
    t.equal(await views.put('vera', view('a', '?x=2')), true)
    t.same(await views.list('vera'), [view('a', '?x=2'), view('d', '?x=1'), c], 'the same name')
    t.equal(await views.put('vera', view('c', '?x=3'), 'a'), true)
    t.same(await views.list('vera'), [view('c', '?x=3'), view('d', '?x=1')], 'the name of a third')
    t.equal(await views.put('walt', a), true)
    const elsewhere: SavedView = { page: '/console', name: 'd', query: '?range=week' }
    t.equal(await views.put('vera', elsewhere), true)
    t.equal(await views.remove('vera', view('d')), true)
    t.equal(await views.remove('vera', view('d')), false)
    t.equal(await views.remove('vera', view('a')), false, "another's")
    t.same(await views.list('vera'), [elsewhere, view('c', '?x=3')], 'of another page')
    const many = await Promise.all(
      Array.from({ length: viewsMax + 3 }, async (_, n) => views.put('vera', view(`n${n}`))),
    )
    t.equal(many.filter(Boolean).length, viewsMax - 1)
    t.equal(await views.put('vera', view('c', '?x=4')), true, 'one that is there is no more')
    t.equal(await views.put('nobody', a), false)
  })

  await t.test('one of 50 concurrent setup claims creates the administrator', async t => {
    t.equal(await users.hasAdmin(), false, 'an administrator without a password does not count yet')
    await users.offerSetup('token', clock.now() + 1_000)
    await users.offerSetup('late', clock.now())
    const claim = (tokenHash: string, name: string) =>
      users.claimSetup({ tokenHash, name, group: 'default', passwordHash: `of ${name}` })
    t.equal(await claim('none', 'x'), 'unknown')
    t.equal(await claim('late', 'x'), 'unknown')
    await sessions.create(session('before', 'sid'))
    const others = Array.from({ length: 49 }, (_, i) => claim('token', `admin ${i}`))
    const claims = await Promise.all([claim('token', 'sid'), ...others])
    t.same(
      claims.filter(one => one !== 'done'),
      ['claimed'],
    )
    t.equal(await users.hasAdmin(), true)
    const admins = (await users.list()).filter(user => user.role === 'admin' && user.hasPassword)
    t.equal(admins.length, 1)
    t.equal(await claim('token', 'y'), 'done')
    const name = admins[0]?.name ?? ''
    t.equal(await users.passwordHash(name), `of ${name}`)
    t.match((await trailOf(name)).at(-1), { actor: name, action: 'user.setup', after: { role: 'admin' } })
    if (name === 'sid') t.equal(await sessions.find('before'), undefined, 'older sessions do not become its')
  })

  await t.test('a sign-in at an issuer completes once, in time, and with a bound on open ones', async t => {
    const stateText = '{"nonce":"n"}'
    const trip = (hash: string) => ({ hash, state: stateText, expiresAt: clock.now() + 600_000 })
    await signIn.saveLogin(trip('a'))
    t.equal(await signIn.takeLogin('b'), undefined)
    const arrived = await Promise.all(Array.from({ length: 20 }, async () => signIn.takeLogin('a')))
    t.same(
      arrived.filter(one => one !== undefined),
      [stateText],
      'of 20 at once one',
    )
    await signIn.saveLogin({ ...trip('late'), expiresAt: clock.now() })
    t.equal(await signIn.takeLogin('late'), undefined)
    await signIn.saveLogin({ ...trip('ahead'), expiresAt: clock.now() + day })
    t.equal(await signIn.takeLogin('ahead'), undefined, 'one that a clock ahead has sent')
    await harness.edit(`INSERT INTO sign_in_trip (hash, told, expires_at)
      SELECT 'of ' || value, '{}', ${clock.now() + 1} FROM (${numbers(10_000)}) AS many`)
    await signIn.saveLogin(trip('c'))
    t.equal(await signIn.takeLogin('c'), stateText, 'open sign-ins of others block nobody')
    await signIn.saveLogin(trip('d'))
    await harness.edit(`UPDATE sign_in_trip SET expires_at = 1 WHERE hash <> 'd'`)
    await signIn.saveLogin(trip('e'))
    t.equal(await signIn.takeLogin('d'), stateText)
    t.equal(await signIn.takeLogin('of 9'), undefined, 'abandoned sign-ins are forgotten')
  })

  await t.test('an identity is linked to one user, and its subject to no other', async t => {
    const [one, two] = [
      { issuer: 'https://i/', subject: '1' },
      { issuer: 'https://i/', subject: '2' },
    ]
    for (const name of ['lin', 'lou']) await users.create({ name, group: 'default', role: 'user', passwordHash: null })
    t.equal(await signIn.find(one), undefined)
    const links = await Promise.all(['lin', 'lou'].map(async name => signIn.link(one, name, by)))
    t.same(links.toSorted(), ['linked', 'taken'], 'of two users at once one')
    const name = links[0] === 'linked' ? 'lin' : 'lou'
    t.match(await signIn.find(one), { name, role: 'user' })
    t.equal(await signIn.link(one, name, by), 'linked', 'again')
    t.equal(await signIn.link(two, name, by, true), 'other')
    t.equal(await signIn.link(two, 'nobody', by), 'unknown')
    t.equal(await signIn.link(two, name, by), 'linked', 'a second one by their own wish')
    t.match(await signIn.links(name), [one, two])
    t.equal(await signIn.unlink(name, two, name, { keepWayIn: true }), 1)
    t.equal(await signIn.unlink(name, two, name, { keepWayIn: true }), 0, 'gone')
    t.equal(await signIn.unlink(name, one, name, { keepWayIn: true }), 0, 'the only way in')
    t.equal(await signIn.unlink(name, undefined, by), 1)
    t.equal(await signIn.find(one), undefined)
    t.match(
      (await trailOf(name)).map(row => row.action),
      ['user.create', 'user.link', 'user.link', 'user.unlink', 'user.unlink'],
    )
  })

  await t.test('a new user and identity are created together or not at all', async t => {
    const identity = { issuer: 'https://i/', subject: 'new' }
    const user = { name: 'newcomer', group: 'default', role: 'user', passwordHash: null } as const
    const many = Array.from({ length: 8 }, async (_, i) =>
      signIn.admit({ user: { ...user, name: `newcomer ${i}` }, identity, invitation: null }, by),
    )
    const ends = await Promise.allSettled(many)
    t.equal(ends.filter(end => end.status === 'fulfilled' && end.value === 'admitted').length, 1, 'of 8 at once one')
    t.equal((await users.list()).filter(one => one.name.startsWith('newcomer')).length, 1, 'and nobody without a tie')
    const other = { issuer: 'https://i/', subject: 'other' }
    const taken = { user: { ...user, name: 'lin' }, identity: other, invitation: null }
    await t.rejects(Promise.resolve(signIn.admit(taken, by)), { code: 'user_exists' })
    t.equal(await signIn.find(other), undefined)
  })

  await t.test('an invitation works once, while its creator may invite', async t => {
    const made = { name: null, role: 'viewer', group: 'default', expiresAt: clock.now() + 1_000 } as const
    await users.create({ name: 'host', group: 'default', role: 'admin', passwordHash: null })
    const one = await signIn.invite({ ...made, hash: 'one' }, 'host')
    const two = await signIn.invite({ ...made, hash: 'two' }, 'command line')
    t.same((await signIn.invitations()).map(({ id }) => id).toSorted(), [one.id, two.id].toSorted())
    t.match(await signIn.invitation('one'), { ...made, by: 'host' })
    const guest = (name: string, invitation: string) =>
      ({ user: { name, group: 'default', role: 'viewer', passwordHash: 'x' }, identity: null, invitation }) as const
    await t.rejects(Promise.resolve(signIn.admit(guest('host', 'one'), 'host')), { code: 'user_exists' })
    const many = await Promise.all(Array.from({ length: 20 }, async (_, i) => signIn.admit(guest(`g${i}`, 'one'), 'g')))
    t.equal(
      many.filter(end => end === 'admitted').length,
      1,
      'of 20 at once one, and a name that was taken used nothing up',
    )
    await signIn.invite({ ...made, hash: 'three' }, 'host')
    await users.change('host', { role: 'user' }, by)
    t.equal(await signIn.admit(guest('late', 'three'), 'late'), 'uninvited')
    t.equal(await signIn.invitation('three'), undefined)
    await signIn.invite({ ...made, hash: 'four', expiresAt: clock.now() }, 'command line')
    t.equal(await signIn.admit(guest('late', 'four'), 'late'), 'uninvited')
    t.equal(await signIn.revokeInvitation(two.id, by), true)
    t.equal(await signIn.revokeInvitation(two.id, by), false)
    t.equal(await signIn.admit(guest('late', 'two'), 'late'), 'uninvited')
    await t.rejects(Promise.resolve(signIn.invite({ ...made, name: 'host', hash: 'five' }, by)), {
      code: 'user_exists',
    })

    const token = { name: 'script', role: 'admin', scopes: ['people'], ips: null, expiresAt: null, hint: '' } as const
    const program = await adminTokens.create({ ...token, hash: 'program' }, 'command line')
    await signIn.invite({ ...made, hash: 'six' }, 'token script')
    await signIn.invite({ ...made, hash: 'seven' }, 'token script')
    t.equal(await signIn.admit(guest('sixth', 'six'), 'sixth'), 'admitted')
    t.equal((await signIn.invitations()).length, 1)
    await adminTokens.revoke(program.id, by)
    t.equal(await signIn.invitation('seven'), undefined)
    await adminTokens.create({ ...token, hash: 'next program' }, 'command line')
    t.equal(await signIn.admit(guest('late', 'seven'), 'late'), 'uninvited', 'nor by the next token of that name')
  })

  await t.test('a person cannot choose a name that others could take for another one', async t => {
    await users.create({ name: 'Scope', group: 'default', role: 'admin', passwordHash: null })
    await users.create({ name: 'scope@example.com', group: 'default', role: 'user', passwordHash: null })
    const made = { role: 'user', group: 'default', expiresAt: clock.now() + 1_000 } as const
    const admit = (name: string, invitation: string | null) =>
      Promise.resolve(
        signIn.admit(
          { user: { name, group: 'default', role: 'user', passwordHash: null }, identity: null, invitation },
          name,
        ),
      )
    await signIn.invite({ ...made, name: null, hash: 'open' }, 'command line')
    // Small, of full width, and with Cyrillic or Greek letters.
    for (const name of ['scope', 'ｓcope', 'Ѕсоре', 'Scοpe', 'gateway', 'GATEWAY'])
      for (const invitation of ['open', null])
        await t.rejects(admit(name, invitation), { code: 'name_alike' }, `${name} by ${invitation}`)
    await t.rejects(admit('Scope', 'open'), { code: 'user_exists' })
    t.equal(await admit('scope2', 'open'), 'admitted', 'the invitation was not used up')
    const both = await Promise.allSettled([admit('twin', null), admit('Twin', null)])
    t.same(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], 'of two at once one gets the name')
    t.equal(await admit('SCOPE@example.com', null), 'admitted', 'an issuer has verified an address')
    await signIn.invite({ ...made, name: 'SCOPE', hash: 'given' }, 'command line')
    t.equal(await admit('SCOPE', 'given'), 'admitted', 'an administrator may give any name')
  })

  await t.test('an administrator counts only if they can sign in under the configuration', async t => {
    const issuer = 'https://admins/'
    await users.create({ name: 'tied', group: 'default', role: 'admin', passwordHash: null })
    t.equal(await users.hasAdmin({ passwords: true, issuers: [] }), true)
    t.equal(await users.hasAdmin({ passwords: false, issuers: [issuer] }), false)
    await signIn.link({ issuer, subject: 'a' }, 'tied', by)
    t.equal(await users.hasAdmin({ passwords: false, issuers: [issuer] }), true)
    t.equal(await users.hasAdmin({ passwords: false, issuers: ['https://another/'] }), false)
    await users.offerSetup('without', clock.now() + 1_000)
    const claim = { tokenHash: 'without', name: 'tied', group: 'default', passwordHash: 'x' }
    t.equal(await users.claimSetup({ ...claim, ways: { passwords: false, issuers: [issuer] } }), 'done')
    await sessions.create(session('tied', 'tied'))
    await signIn.endSessions('tied')
    t.equal(await sessions.find('tied'), undefined)
    await users.change('tied', { role: 'user' }, by)
  })

  await t.test('the trail is read newest first by actor, target and action, and stores notes', async t => {
    await trail.note({ actor: 'zoe', action: 'user.login', subject: 'zoe', before: null, after: null, reason: 'note' })
    await trail.note({ actor: 'zoe', action: 'keys.other', subject: 'x', before: null, after: { a: 1 }, reason: null })
    t.match(await trail.list({ limit: 5, actor: 'zoe' }), [
      { action: 'keys.other', after: { a: 1 } },
      { reason: 'note' },
    ])
    t.match(await trail.list({ limit: 5, actor: 'zoe', action: 'user' }), [{ action: 'user.login' }])
    t.match(await trail.list({ limit: 5, action: 'user.login' }), [{ actor: 'zoe' }])
    t.ok((await trail.list({ limit: 900, action: 'key' })).every(row => row.action.startsWith('key.')))
    const all = await trail.list({ limit: 1_000 })
    const first = await trail.list({ limit: 4 })
    const second = await trail.list({ limit: 4, before: first.at(-1)?.id ?? '' })
    t.same([...first, ...second], all.slice(0, 8))
  })

  await t.test('the trail cannot be rewritten', async t => {
    await t.rejects(harness.edit(`UPDATE trail SET actor = 'nobody'`), /the trail does not change/)
    await t.rejects(harness.edit('DELETE FROM trail'), /the trail is not deleted/)
  })

  /** Charges a key now and returns the charge's id. */
  async function buy(key: Key, price: number): Promise<string> {
    const request = holdOf(key, price)
    t.same(await ledger.hold(request), { kind: 'held' })
    await ledger.line(request.facts.id, line(0, { price }))
    await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    return request.facts.id
  }

  await t.test('a daily or monthly budget renews with its period, and a total one never', async t => {
    clock.set(monthEnd - 5 * day)
    const made = async (budgetPeriod: Key['budgetPeriod']) => keys.create(newKey({ budget: 100, budgetPeriod }))
    const [daily, monthly, total] = [await made('day'), await made('month'), await made('total')]
    const all = [daily, monthly, total]
    const refusals = async () => {
      const results: unknown[] = []
      for (const key of all) results.push(await ledger.hold(holdOf(key, 50)))
      return results
    }
    for (const key of all) await buy(key, 80)
    const none = { kind: 'overdrawn', level: 'key', availableMicros: 20, heldMicros: 0 }
    const [tomorrow, nextMonth] = [Date.UTC(2026, 10, 26), Date.UTC(2026, 11, 1)]
    t.same(await refusals(), [
      { ...none, renewsAt: tomorrow },
      { ...none, renewsAt: nextMonth },
      { ...none, renewsAt: null },
    ])
    clock.set(tomorrow - 1)
    t.match(await ledger.hold(holdOf(daily, 21)), none)
    clock.set(tomorrow)
    await buy(daily, 100)
    t.match(await ledger.hold(holdOf(daily, 1)), { availableMicros: 0, renewsAt: tomorrow + day })
    t.match(await ledger.hold(holdOf(monthly, 21)), none)
    clock.set(nextMonth - 1)
    t.match(await ledger.hold(holdOf(monthly, 21)), none)
    clock.set(nextMonth)
    await buy(monthly, 100)
    t.match(await ledger.hold(holdOf(total, 21)), none)
    const now = await keys.find(monthly.id)
    t.match(now, { spent: 180, held: 0, spentIn: { month: { from: nextMonth, spent: 100 } } })
    t.equal(now && budgetUsed(now, clock.now(), 'UTC'), 100)
    t.equal(now && budgetUsed(now, clock.now() + 40 * day, 'UTC'), 0)
    t.same((await books.verify()).problems, [])
  })

  await t.test('a hold across midnight is charged to the day on which it ends', async t => {
    clock.set(monthEnd)
    const key = await keys.create(newKey({ budget: 100, budgetPeriod: 'day' }))
    const request = holdOf(key, 70)
    await ledger.hold(request)
    clock.set(monthEnd + 120_000)
    t.match(
      await ledger.hold(holdOf(key, 31)),
      { availableMicros: 30 },
      'what is held is not free on the new day either',
    )
    await ledger.line(request.facts.id, line(0, { price: 60 }))
    await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    t.match(await keys.find(key.id), { held: 0, spentIn: { day: { spent: 60 }, month: { spent: 60 } } })
    t.match(await ledger.hold(holdOf(key, 41)), { availableMicros: 40 })
  })

  await t.test('a refund frees the day and the month of the spending, and no later ones', async t => {
    clock.set(monthEnd - 2 * day)
    const key = await keys.create(newKey({ budget: 1_000, budgetPeriod: 'day' }))
    const [early, late] = [await buy(key, 10), await buy(key, 20)]
    await books.refund(early, by, 'same day')
    t.match(await keys.find(key.id), { spent: 20, spentIn: { day: { spent: 20 }, month: { spent: 20 } } })
    clock.set(monthEnd)
    const third = await buy(key, 5)
    await books.refund(late, by, 'another day, the same month')
    t.match(await keys.find(key.id), { spent: 5, spentIn: { day: { spent: 5 }, month: { spent: 5 } } })
    clock.set(monthEnd + day)
    await buy(key, 7)
    await books.refund(third, by, 'another month')
    t.match(await keys.find(key.id), { spent: 7, spentIn: { day: { spent: 7 }, month: { spent: 7 } } })
    t.match(await trail.list({ limit: 1, subject: third }), [
      { actor: by, action: 'charge.refund', after: { refunded: 5 }, reason: 'another month' },
    ])
    t.same((await books.verify()).problems, [])
  })

  await t.test('usage posted without a hold counts on its day', async t => {
    const key = await keys.create(newKey({ budget: 100, budgetPeriod: 'day' }))
    const { facts } = holdOf(key, 0)
    ledger.post(facts, [line(0, { price: 90, quantity: 9 })], 'confirmed')
    await storage.flush()
    t.match(await ledger.hold(holdOf(key, 11)), { kind: 'overdrawn', availableMicros: 10 })
    clock.set(clock.now() + day)
    t.match(await ledger.hold(holdOf(key, 100)), { kind: 'held' })
  })
}
