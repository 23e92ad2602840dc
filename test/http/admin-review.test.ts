import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { networkOf } from '../../src/index.ts'
import { newGuard } from '../harness/login-guard.ts'
import { until } from '../harness/edits.ts'
import { listen } from '../harness/listen.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, movableClock } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

t.test('a pasted configuration reveals no variable, and waits for no pipe or device', async t => {
  const secret = `plain-looking-${'0123456789'.repeat(8)}`
  const started = await start(t, { upstreams: ['alpha'], env: { BETA_API_KEY: secret, ODD: '0.75' } })
  const admin = await enterAsAdmin(started)
  const { text } = (await admin.get('/api/config')).body as { text: string }
  const pipe = join(started.folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const pasted = (find: string | RegExp, value: string) =>
    admin.post('/api/config/check', { text: text.replace(find, `"${value}"`) })
  for (const find of [
    'USD',
    /(?<=listen: )".*?"/,
    /(?<=storage: )".*?"/,
    /(?<=url: )".*?"/,
    /(?<=family: )alpha-image\b/,
  ]) {
    const { status, body, text } = await pasted(find, '${BETA_API_KEY}')
    t.match({ status, body }, { status: 200, body: { ok: false } }, String(find))
    t.notMatch(text, 'plain-looking', String(find))
  }
  t.match((await pasted('USD', '${BETA_URL:-usd}')).text, "found 'usd'", 'text of the pasted file itself is shown')
  const hidden = join(started.folder, 'number')
  await writeFile(hidden, '0.75')
  // The answer is the same for all: it shows neither whether the source exists nor, through a sum, its value.
  for (const foreign of [
    '${ODD}',
    '${ODD:-x}',
    '${NO_ODD}',
    ...[pipe, '/dev/zero', hidden, '/none'].map(one => `\${file:${one}}`),
  ]) {
    const changed = text.replace('1K: "0.02"', `1K: "${foreign}"`)
    for (const path of ['check', 'cost'])
      t.match(
        (await admin.post(`/api/config/${path}`, { text: changed })).body,
        {
          ok: false,
          findings: [
            { code: 'reference_not_in_use', message: /^found a variable or a file that the active conf[a-z ]+$/ },
          ],
        },
        `${path} ${foreign}`,
      )
  }
})

t.test('a tail ends with its role, its session or its time limit, before another row', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: ['alpha'], clock })
  const admin = await enterAsAdmin(started, clock)
  const bob = await enterAsUser(started, admin, 'bob', 'admin')
  const eve = await enterAsUser(started, admin, 'eve')
  const [bobs, eves] = [await listen(started.url, bob), await listen(started.url, eve)]
  await admin.ask('PATCH', '/api/users/bob', { role: 'user' })
  await eve.ask('DELETE', '/api/session')
  await (await started.post('/v1/chat/completions', { model: 'no-such-model' })).arrayBuffer()
  await Promise.all([bobs.done, eves.done])
  t.same(bobs.events, [], 'a former administrator sees no data of others')
  const idle = await listen(started.url, bob)
  clock.forward(31 * 60_000)
  await idle.done
  t.equal((await bob.get('/api/session')).status, 401)
})

t.test('one user cannot take every slot for tails or exports', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const ann = await enterAsUser(started, admin, 'ann')
  const places = await Promise.all(Array.from({ length: 10 }, () => listen(started.url, ann)))
  t.same(new Set(places.map(place => place.response.status)), new Set([200]))
  const refused = await ann.get('/api/logs/tail')
  t.match({ status: refused.status, code: refused.code }, { status: 429, code: 'busy' })
  t.match(refused.body, { error: { message: /^The gateway is busy/ } }, 'not the text for guessed passwords')
  const other = await listen(started.url, admin)
  t.equal(other.response.status, 200)
  for (const place of [...places, other]) place.stop()
  await Promise.all(places.map(place => place.done))
  await until(async () => {
    const again = await listen(started.url, ann)
    again.stop()
    await again.done
    return again.response.status === 200
  })
  for (let i = 0; i < 5; i++)
    t.equal((await ann.get('/api/logs/export')).status, 200, 'a place is free when it is done')
})

t.test("the playground's key ends when an administrator ends its session", async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const ends = {
    'a new password': (name: string) =>
      admin.post(`/api/users/${name}/password`, { password: 'another horse battery' }),
    'a new password by the command line': (name: string) =>
      started.gateway.storage.users.setPassword(name, 'a hash', 'cli'),
    'being disabled, and let in again': async (name: string) => {
      await admin.ask('PATCH', `/api/users/${name}`, { status: 'disabled' })
      await admin.ask('PATCH', `/api/users/${name}`, { status: 'active' })
    },
  }
  for (const [i, [how, end]] of Object.entries(ends).entries()) {
    const visitor = await enterAsUser(started, admin, `user${i}`)
    const { key } = (await visitor.post('/api/playground/key')).body as { key: string }
    const use = async () => (await started.get('/v1/models', { authorization: `Bearer ${key}` })).status
    t.equal(await use(), 200, how)
    await end(`user${i}`)
    t.equal(await use(), 401, how)
  }
})

t.test("a date outside the clock's range is refused at its field", async t => {
  const admin = await enterAsAdmin(await start(t, { upstreams: [] }))
  for (const moment of [
    '2016-12-31T23:59:60Z',
    '2026-01-01T00:00:00%2B05',
    '2026-02-31T00:00:00Z',
    '2026-01-01T00:00:00',
    'yesterday',
  ])
    for (const path of ['/api/logs', '/api/logs/histogram', '/api/logs/export', '/api/usage']) {
      const { status, body } = await admin.get(`${path}?until=${moment}`)
      t.match({ status, body }, { status: 400, body: { error: { code: 'invalid', field: 'until' } } }, path + moment)
    }
})

t.test('field errors are sentences', async t => {
  const admin = await enterAsAdmin(await start(t, { upstreams: [] }))
  for (const [fields, message] of [
    [{}, "'name' is missing."],
    [{ name: 'two\nlines' }, "'name' must have no line breaks and no invisible characters."],
    [
      { name: 'a', budget: '1,50' },
      `'budget' must be a decimal of at most nine digits and six places, such as "12.50".`,
    ],
  ] as const)
    t.match(
      (await admin.post('/api/keys', fields)).body,
      { error: { code: 'invalid', message } },
      caseName({ fields, message }),
    )
})

t.test('the price of an unavailable model is not revealed under any operation', async t => {
  const started = await start(t, {
    upstreams: [],
    edit: [{ 'models/alpha-image-2/enabled': false }],
  })
  const admin = await enterAsAdmin(started)
  for (const operation of ['image.generate', 'image.edit', 'nothing']) {
    const page = await (await fetch(`${started.url}/pricing?model=alpha-image-2&operation=${operation}`)).text()
    t.match(page, 'does not exist or is not available', operation)
    t.equal(
      (await admin.post('/api/explain', { model: 'alpha-image-2', operation })).code,
      'model_not_found',
      caseName({ operation }),
    )
  }
})

t.test('counts an IPv6 /64 as one address for password guesses', async t => {
  const guard = newGuard(networkOf)
  for (let i = 0; i < 20; i++) await guard.attempt(`user${i}`, `2001:db8::${i}`, () => undefined)
  await t.rejects(
    guard.attempt('root', '2001:db8::ffff', () => undefined),
    { code: 'slow_down' },
  )
  await t.resolves(guard.attempt('root', '2001:db8:0:1::1', () => undefined))
})
