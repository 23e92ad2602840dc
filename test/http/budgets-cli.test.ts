import t from 'tap'
import { createKey } from '../../src/index.ts'
import { askOnce } from '../harness/ask.ts'
import { runCli } from '../harness/cli.ts'
import { start } from '../harness/start.ts'

const image = { model: 'beta-imagine-image', prompt: 'a boat', size: '1024x1024' }

t.test('the command line sets and shows budgets and balances, which then refuse', async t => {
  const started = await start(t, {
    upstreams: [],
    simulated: true,
  })
  const run = (...args: readonly string[]) => runCli(started, ...args)
  const { storage } = started.gateway
  const { secret, key } = await createKey(storage, { name: 'one', user: 'local', budget: 9_000_000 })
  t.match(await run('users', 'budget', 'local', '--amount', '0.05', '--per', 'day'), {
    code: 0,
    stderr: /may spend 0\.05/,
  })
  t.match(await run('users', 'topup', 'local', '0.03', '--note', 'invoice 7'), {
    code: 0,
    stderr: /0\.03 USD added to the balance of/,
  })
  for (const [args, code] of [
    [['users', 'budget', 'local', '--amount', 'much'], 2],
    [['users', 'budget', 'local', '--amount', '1', '--per', 'year'], 2],
    [['users', 'budget', 'local', '--amount', '1', '--per', 'day', '--resets-on', '3'], 2],
    [['users', 'budget', 'nobody', '--amount', '1'], 1],
    [['users', 'topup', 'local', '0'], 2],
    [['users', 'topup', 'nobody', '1'], 1],
    [['users', 'balance', 'nobody'], 1],
  ] as const)
    t.equal((await run(...args)).code, code, args.join(' '))
  // A running gateway notices within a second.
  const since = performance.now()
  while ((await storage.keys.find(key.id))?.userBalance === null)
    if (performance.now() - since > 15_000) throw new Error('it is not known after 15 s')
  await storage.users.change('local', { status: 'active' }, 'test')
  t.equal((await askOnce(started.url, image, { key: secret })).status, 200)
  await started.settled()
  const refused = await askOnce(started.url, image, { key: secret })
  t.equal(refused.status, 402)
  t.match(refused.json(), {
    error: { message: /the user's prepaid balance has 0\.01 USD left\. Send a smaller request/ },
  })
  const listed = (await run('budgets', '--format', 'json')).stdout.trim().split('\n')
  const all = listed.map(text => JSON.parse(text) as object)
  t.match(all, [
    { level: 'user', name: 'local', amount: '0.05', per: 'day', spent: '0.02', held: '0.00', left: '0.03' },
    { level: 'balance', name: 'local', amount: '0.03', per: 'total', spent: '0.02', left: '0.01', renews: null },
    { level: 'key', name: key.id, user: 'local', amount: '9.00', spent: '0.02', left: '8.98' },
  ])
  t.match((await run('budgets')).stdout, /^user +local +local +0\.05 +day +0\.02/m)
  const balance = JSON.parse((await run('users', 'balance', 'local', '--format', 'json')).stdout) as object
  t.match(balance, { balance: { left: '0.01' }, topups: [{ amount: '0.03', note: 'invoice 7', by: 'command line' }] })
  t.match((await run('users', 'balance', 'local')).stdout, /invoice 7/)
  t.match(await run('users', 'topup', 'local', '0.03', '--paid-in', '0'), {
    code: 1,
    stderr: /0\.03 USD was paid in for local before\. Nothing was added/,
  })
  t.match(await run('users', 'topup', 'local', '0.03', '--paid-in', 'x'), { code: 2, stderr: /--paid-in x/ })
  t.match(await run('users', 'budget', 'local', '--amount', 'none'), { code: 0, stderr: /no budget of their own/ })
  t.match(await run('ledger', 'verify'), { code: 0 })
})
