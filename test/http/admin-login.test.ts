import t from 'tap'
import { WorkQueue } from '../../src/admin/work-queue.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, movableClock, newVisitor, offerToken, passwordOfTests } from '../harness/visitor.ts'
import { newGuard } from '../harness/login-guard.ts'
import { caseName } from '../harness/case-name.ts'

const minuteMs = 60_000
const wrong = (name: string) => ({ name, password: 'not the password' })
const right = (name: string) => ({ name, password: passwordOfTests })

/** An error without the parts that differ between requests. */
const anonymous = (text: string): string => text.replace(/web_\w+/, '')

t.test('C11 there is no default password: a link creates the first administrator, once', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const visitor = newVisitor(started.url)
  const before = await visitor.get('/api/session')
  t.equal(before.status, 401)
  t.match(before.body, { error: { code: 'not_logged_in', setup_needed: true } })
  for (const name of ['admin', 'root', 'local'])
    for (const password of ['', 'admin', 'password', 'tollgate'])
      t.equal(
        (await newVisitor(started.url).post('/api/session', { name, password })).status === 200,
        false,
        caseName({ name, password }),
      )
  const guess = await visitor.post('/api/setup', { token: 'x'.repeat(43), ...right('root') })
  t.match([guess.status, guess.code], [400, 'invalid'])

  const token = await offerToken(started)
  const visitors = Array.from({ length: 50 }, () => newVisitor(started.url))
  clock.forward(minuteMs)
  const answers = await Promise.all(visitors.map((one, i) => one.post('/api/setup', { token, ...right(`root${i}`) })))
  t.equal(answers.filter(one => one.status === 200).length, 1, 'of 50 at once one')
  const admins = (await started.gateway.storage.users.list()).filter(user => user.role === 'admin')
  t.equal(admins.length, 1)
  clock.forward(minuteMs)
  const late = await visitor.post('/api/setup', { token, ...right('late') })
  t.match([late.status, late.code], [409, 'conflict'])
  t.match((await visitor.get('/api/session')).body, { error: { setup_needed: false } })
})

t.test('a setup link expires', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const token = await offerToken(started, 24 * 60 * minuteMs, clock.now())
  clock.forward(24 * 60 * minuteMs)
  const answer = await newVisitor(started.url).post('/api/setup', { token, ...right('root') })
  t.match([answer.status, answer.code], [400, 'invalid'])
  t.equal(await started.gateway.storage.users.hasAdmin(), false)
})

t.test('C1 wrong passwords double the wait each time, and the right one works afterwards', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  await enterAsUser(started, admin, 'ann')
  const visitor = newVisitor(started.url)
  const waits: number[] = []
  for (let i = 0; i < 8; i++) {
    t.equal((await visitor.post('/api/session', wrong('ann'))).status, 401, caseName({ i }))
    const soon = await visitor.post('/api/session', right('ann'))
    t.match([soon.status, soon.code], [429, 'slow_down'], caseName({ i }))
    const waitS = Number(soon.headers.get('retry-after'))
    waits.push(waitS)
    clock.forward(waitS * 1_000)
  }
  t.same(waits, [1, 2, 4, 8, 16, 32, 60, 60])
  clock.forward(minuteMs)
  t.equal((await visitor.post('/api/session', right('ann'))).status, 200)
  t.equal((await newVisitor(started.url).post('/api/session', right('ann'))).status, 200, 'at once: forgiven')
})

t.test('C1 an address has 20 wrong passwords a minute, over all accounts', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  await enterAsAdmin(started, clock)
  const visitor = newVisitor(started.url)
  const statuses: number[] = []
  for (let i = 0; i < 25; i++) statuses.push((await visitor.post('/api/session', wrong(`someone${i}`))).status)
  t.same(statuses, [...Array<number>(20).fill(401), ...Array<number>(5).fill(429)])
  t.equal((await visitor.post('/api/session', right('root'))).status, 429)
  clock.forward(minuteMs)
  t.equal((await visitor.post('/api/session', right('root'))).status, 200)
})

t.test('C1 an unknown account gets the same answer at the same cost', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  await enterAsUser(started, admin, 'ann')
  await admin.post('/api/users', { name: 'no-password' })
  await enterAsUser(started, admin, 'gone')
  await admin.ask('PATCH', '/api/users/gone', { status: 'disabled' })
  const visitor = newVisitor(started.url)
  const times = new Map<string, number[]>()
  const bodies = new Set<string>()
  for (let i = 0; i < 7; i++) {
    for (const name of ['ann', 'nobody', 'no-password', 'gone', '__proto__']) {
      const began = performance.now()
      const answer = await visitor.post('/api/session', wrong(name))
      times.set(name, [...(times.get(name) ?? []), performance.now() - began])
      bodies.add(`${answer.status} ${anonymous(answer.text)}`)
      clock.forward(15 * minuteMs)
    }
  }
  t.equal(bodies.size, 1, [...bodies].join('\n'))
  const medians = [...times].map(([name, ms]) => `${name} ${ms.toSorted((a, b) => a - b)[3]?.toFixed(1)} ms`)
  t.comment(`medians: ${medians.join(', ')}`)
  const disabled = await visitor.post('/api/session', right('gone'))
  t.equal(`${disabled.status} ${anonymous(disabled.text)}`, [...bodies][0], 'a disabled account, too')
})

t.test('C2 passwords are hashed two at a time, and further attempts are refused', async t => {
  const queue = new WorkQueue()
  const works = Array.from({ length: 50 }, () => Promise.withResolvers<void>())
  const runs = works.map(({ promise }) =>
    queue
      .run(() => promise)
      .then(
        () => 'ran',
        (error: unknown) => (error as { code: string }).code,
      ),
  )
  works.forEach(({ resolve }) => resolve())
  const ends = await Promise.all(runs)
  t.equal(queue.peak, 2)
  t.equal(ends.filter(end => end === 'ran').length, 22)
  t.equal(ends.filter(end => end === 'busy').length, 28)

  const started = await start(t, { upstreams: [] })
  await enterAsAdmin(started)
  const logins = Array.from({ length: 50 }, (_, i) => newVisitor(started.url).post('/api/session', wrong(`u${i}`)))
  const models = Array.from({ length: 20 }, () => started.get('/v1/models'))
  t.ok(
    (await Promise.all(models)).every(answer => answer.status === 200),
    'callers are served meanwhile',
  )
  const statuses = (await Promise.all(logins)).map(answer => answer.status)
  t.ok(
    statuses.every(status => status === 401 || status === 429),
    String(statuses),
  )
})

t.test('the guard bounds the addresses and accounts that it remembers', async t => {
  const guard = newGuard(address => address)
  for (let i = 0; i < 10_050; i++) await guard.attempt('a', `address ${i}`, () => undefined)
  await t.resolves(
    guard.attempt('a', 'address 0', () => undefined),
    'the oldest are forgotten',
  )
  await t.rejects(
    guard.attempt('a', 'address 10049', () => undefined),
    { code: 'slow_down' },
  )
})

t.test('an attempt that could not be checked, or was right, counts for nothing', async t => {
  const guard = newGuard(address => address)
  for (let i = 0; i < 30; i++) {
    await t.rejects(
      guard.attempt('a', 'address', () => Promise.reject(new Error('busy'))),
      { message: 'busy' },
      caseName({ i }),
    )
    t.equal(await guard.attempt('a', 'address', () => true), true, caseName({ i }))
  }
  t.equal(await guard.attempt('a', 'address', () => undefined), undefined)
  await t.rejects(
    guard.attempt('a', 'address', () => true),
    { code: 'slow_down' },
  )
})

t.test('a common password is refused at its field', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  for (const password of ['short', 'aaaaaaaaaaaaaa', 'password1234', 'somebody1234'.slice(0, 11), 'x'.repeat(129)]) {
    const answer = await admin.post('/api/users', { name: 'somebody', password })
    t.equal(answer.status, 400, password)
    t.match(answer.body, { error: { code: 'invalid', field: 'password' } }, password)
  }
})
