import t, { type Test } from 'tap'
import { runCli } from '../harness/cli.ts'
import { editShipped } from '../harness/project.ts'
import { start } from '../harness/start.ts'

async function open(t: Test) {
  const started = await start(t, { upstreams: [], simulated: true })
  const { gateway, url } = started
  return { url, storage: gateway.storage, run: (...args: readonly string[]) => runCli(started, ...args) }
}

const jsonLines = (stdout: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)

t.test('keys are created, changed, rotated and shown, and the trail has the author', async t => {
  const { run, url, storage } = await open(t)
  const settings = ['--expires', '30d', '--ips', '127.0.0.0/8,::1', '--rpm', '5', '--tpm', '900', '--concurrency', '2']
  const budget = ['--budget', '1.50', '--budget-period', 'day']
  const made = await run('keys', 'create', '--name', 'set up', ...settings, ...budget, '--format', 'json')
  const [created] = jsonLines(made.stdout) as { id: string; key: string }[]
  const { id = '', key = '' } = created ?? {}
  t.match(created, {
    ips: ['127.0.0.0/8', '::1'],
    limits: { rpm: 5, tpm: 900, concurrency: 2 },
    budget: '1.50',
    budget_period: 'day',
    expires: /^20/,
  })
  t.match(
    await run('keys', 'update', id, '--rpm', 'none', '--tpm', '800', '--expires', '2099-01-31', '--ips', 'none'),
    {
      code: 0,
      stdout: '',
      stderr: /^Changed key /m,
    },
  )
  const [shown, words, rotated] = await Promise.all([
    run('keys', 'show', id, '--format', 'json'),
    run('keys', 'show', id),
    run('keys', 'rotate', id, '--overlap', '1h', '--format', 'json'),
  ])
  const wanted = { id, ips: null, limits: { tpm: 800, concurrency: 2 }, expires: '2099-01-31T00:00:00.000Z' }
  t.same(jsonLines(shown.stdout), [{ ...jsonLines(shown.stdout)[0], ...wanted }])
  t.match(words.stdout, /^limits +(?:tpm 800, concurrency 2|concurrency 2, tpm 800)$/m)
  t.notOk((shown.stdout + words.stdout).includes(key), 'a secret is shown once')
  const [second] = jsonLines(rotated.stdout) as { id: string; key: string }[]
  t.match(second, { id, key: /^sk-/, old_key_until: /^20/ })
  const models = async (secret: string) =>
    (await fetch(`${url}/v1/models`, { headers: { 'x-api-key': secret } })).status
  t.same([await models(key), await models(second?.key ?? '')], [200, 200], 'both secrets are taken')
  t.match(await run('keys', 'disable', id), { code: 0, stdout: '' })
  const since = performance.now()
  for (const one of [key, second?.key ?? ''])
    while ((await models(one)) === 200)
      if (performance.now() - since > 15_000) throw new Error('it is still taken after 15 s')
  t.same([await models(key), await models(second?.key ?? '')], [401, 401])
  t.match(await run('keys', 'enable', id), { code: 0, stdout: '' })
  const trail = await storage.trail.list({ limit: 10, subject: id })
  t.same(
    trail.map(({ actor, action }) => `${actor}: ${action}`),
    ['change', 'change', 'rotate', 'change', 'create'].map(action => `command line: key.${action}`),
  )
})

t.test('an invalid key setting is refused with the remedy, and a missing key with exit 1', async t => {
  const { run } = await open(t)
  const refusals: [args: readonly string[], code: number, says: RegExp][] = [
    [['keys', 'create', '--name', 'x', '--expires', 'soon'], 2, /--expires soon: expected a date such as 2027-01-31/],
    [['keys', 'create', '--name', 'x', '--expires', '2020-01-01'], 2, /2020-01-01: it is in the past/],
    [
      ['keys', 'create', '--name', 'x', '--ips', '10.0.0.0/33'],
      2,
      /--ips 10\.0\.0\.0\/33: expected addresses or CIDR blocks/,
    ],
    [['keys', 'create', '--name', 'x', '--rpm', '0'], 2, /--rpm 0: expected a whole number from 1/],
    [['keys', 'create', '--name', 'x', '--budget-period', 'day'], 2, /also set --budget/],
    [['keys', 'create', '--name', 'x', '--budget', '1', '--budget-period', 'fortnight'], 2, /total, day/],
    [['keys', 'rotate', 'key_none', '--overlap', 'x'], 2, /--overlap x: expected a duration such as 24h/],
    [['keys', 'update', 'key_none', '--name', 'x'], 1, /there is no key 'key_none' \(tollgate keys list\)/],
    [['keys', 'disable', 'key_none'], 1, /there is no key/],
    [['keys', 'show', 'key_none'], 1, /there is no key/],
    [['users', 'set', 'local'], 2, /nothing to change; name at least one/],
    [['users', 'role', 'local', 'boss'], 2, /user, viewer, billing, admin/],
    [['users', 'set', 'local', '--keys-max', '-1'], 2, /a whole number/],
    [['users', 'set', 'local', '--status', 'off'], 2, /active or disabled/],
    [['users', 'create', 'a b;c'], 2, /user name 'a b;c' is invalid: use at most 64 letters, digits, _ \. @ or -/],
    [['users', 'create', 'x'.repeat(65)], 2, /is invalid: use at most 64/],
    [['users', 'set', 'nobody', '--role', 'admin'], 1, /there is no user 'nobody'/],
  ]
  const refuse = async () => {
    for (let next = refusals.shift(); next; next = refusals.shift()) {
      const [args, code, stderr] = next
      t.match(await run(...args), { code, stdout: '', stderr }, args.join(' '))
    }
  }
  await Promise.all([refuse(), refuse(), refuse()])
})

t.test('users are changed, and the trail has the author', async t => {
  const { run, storage } = await open(t)
  t.match(await run('users', 'create', 'ann', '--group', 'partner'), { code: 0, stderr: /User ann \(user\)/ })
  t.match(await run('users', 'set', 'ann', '--group', 'default', '--role', 'admin'), { code: 0, stderr: /\(admin\)/ })
  t.match(await run('users', 'role', 'ann', 'viewer'), { code: 0, stderr: /\(viewer\)/ })
  const most = ['--keys-max', '3', '--budget', '20', '--budget-period', 'month', '--models', 'sim-chat', '--rpm', '5']
  t.match(await run('users', 'set', 'ann', ...most), { code: 0 })
  t.match(await run('users', 'set', 'ann', '--role', 'admin', '--rpm', 'none'), { code: 0 })
  t.same((await storage.users.find('ann'))?.keyBounds, {
    budget: { to: { amount: 20_000_000, per: 'month' }, by: 'command line' },
    models: { to: ['sim-chat'], by: 'command line' },
  })
  t.match(await run('users', 'set', 'ann', '--status', 'disabled'), { code: 0, stderr: /is disabled/ })
  t.match(await storage.users.find('ann'), { group: 'default', role: 'admin', status: 'disabled' })
  t.match(await storage.trail.list({ limit: 9, subject: 'ann' }), [
    { actor: 'command line', action: 'user.change', after: { status: 'disabled' } },
    { actor: 'command line', action: 'user.change', after: { role: 'admin' } },
    { actor: 'command line', action: 'user.change', after: { keysMax: 3 } },
    { actor: 'command line', action: 'user.change', after: { role: 'viewer' } },
    { actor: 'command line', action: 'user.change', after: { group: 'default', role: 'admin' } },
    { actor: 'command line', action: 'user.create' },
  ])
})

t.test('commands without vendor secrets work on the storage; those that call vendors report it', async t => {
  const started = await start(t, { upstreams: [], simulated: true })
  const yaml = await editShipped([['${ALPHA_API_KEY:-}', '${ALPHA_API_KEY:?}']])
  const run = (...args: readonly string[]) => runCli({ ...started, yaml, env: { ALPHA_API_KEY: '' } }, ...args)
  for (const command of ['keys list', 'models list'])
    t.match(await run(...command.split(' ')), { code: 0, stderr: '' }, command)
  t.match(await run('upstreams', 'list'), { code: 3, stderr: /the variable ALPHA_API_KEY is not set/ })
})
