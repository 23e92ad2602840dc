import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { askOps } from '../../src/cli/ask-ops.ts'
import { readSettings } from '../../src/cli/key-settings.ts'
import { describeBounds, describeModels } from '../../src/cli/describe-bounds.ts'
import { loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFolder } from '../harness/folder.ts'

const end = Date.UTC(2099, 0, 31)

t.test('each changed setting of a user is printed, and unchanged ones are not', t => {
  const by = 'command line'
  const user = {
    name: 'dora',
    keysMax: 3,
    keyBounds: {
      models: { to: ['m', 'n'], by },
      ips: { to: ['10.0.0.0/8'], by },
      limits: { to: { rpm: 5, concurrency: 2 }, by },
      budget: { to: { amount: 2_500_000, per: 'month' as const }, by },
      expiresAt: { to: end, by },
    },
  }
  const cases = [
    [{}, [], []],
    [{ models: 'm,n' }, ['Keys created by dora may use m, n.'], ['Keys created by dora may use any model.']],
    [
      { ips: '10.0.0.0/8' },
      ['Keys created by dora may be used only from 10.0.0.0/8.'],
      ['Keys created by dora may be used from any address.'],
    ],
    [
      { rpm: '5' },
      ['Keys created by dora may have at most rpm 5, concurrency 2.'],
      ['Keys created by dora may have any limits.'],
    ],
    [
      { budget: '2.5' },
      ['Keys created by dora may each have a budget of at most 2.50 (month).'],
      ['Keys created by dora may have any budget.'],
    ],
    [
      { expires: '2099-01-31' },
      ['Keys created by dora expire at 2099-01-31T00:00:00.000Z at the latest.'],
      ['Keys created by dora may have no expiry.'],
    ],
    [{ keysMax: '3' }, ['dora may have at most 3 keys.'], ['dora may have as many keys as the group allows.']],
  ] as const
  for (const [settings, bound, free] of cases) {
    t.strictSame(describeBounds(user, settings), bound, caseName({ settings }))
    t.strictSame(describeBounds({ name: 'dora', keysMax: null, keyBounds: {} }, settings), free, caseName({ settings }))
  }
  t.equal(describeModels(['m'], undefined), 'It may use m.')
  const narrow = { name: 'narrow', models: ['sim-*'] }
  t.equal(describeModels(['sim-a'], undefined, narrow), 'It may use sim-a.')
  t.equal(describeModels(['sim-a', 'b'], undefined, narrow), 'It may use sim-a; b is not allowed for group narrow.')
  t.equal(describeModels(['b', 'c'], undefined, narrow), 'It may use no model; b, c are not allowed for group narrow.')
  t.equal(
    describeModels(['sim-*', 's*', 'b*'], undefined, narrow),
    'It may use sim-*, s*; b* is not allowed for group narrow.',
  )
  t.match(
    describeModels(null, user),
    /every model of its group\. The restriction to m, n only applies to keys created by dora/,
  )
  t.end()
})

t.test('a pattern for models is accepted if a model matches', async t => {
  const loaded = await loadConfig('gateway.yaml', {})
  if (!loaded.ok) throw new Error('the shipped file is not valid')
  const read = (models: string) => () => readSettings({ models }, loaded.plan, 0)
  t.strictSame(read('alpha-image-2')(), { models: ['alpha-image-2'] })
  t.match(read('alpha-*, *')(), { models: ['alpha-*', '*'] })
  t.throws(read('none-*'), /^--models none-\*: the configuration has /)
  t.throws(read('al*pha'), /^--models al\*pha: the configuration has /)
})

t.test('an address with port 0 is not called', async t => {
  const { path } = await makeFolder(t)
  await writeFile(path('a.yaml'), 'server: { ops: "127.0.0.1:0" }\n')
  for (const options of [{ config: path('a.yaml') }, { config: path('a.yaml'), ops: '127.0.0.1:0' }])
    await t.rejects(
      askOps(options, 'GET', '/status'),
      { code: 4, message: /port 0 means any free port.*--ops host:port/ },
      caseName({ ops: options.ops }),
    )
})
