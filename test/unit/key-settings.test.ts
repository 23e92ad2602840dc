import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { askOps } from '../../src/cli/ask-ops.ts'
import { readSettings } from '../../src/cli/key-settings.ts'
import { describeBounds, tellModels } from '../../src/cli/describe-bounds.ts'
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
    [{ models: 'm,n' }, ['Keys that dora makes may use m, n.'], ['Keys that dora makes are bound to no models.']],
    [
      { ips: '10.0.0.0/8' },
      ['Keys that dora makes are taken from 10.0.0.0/8 alone.'],
      ['Keys that dora makes are bound to no addresses.'],
    ],
    [
      { rpm: '5' },
      ['Keys that dora makes may have rpm 5, concurrency 2 at most.'],
      ['Keys that dora makes are bound to no limits.'],
    ],
    [
      { budget: '2.5' },
      ['Keys that dora makes may have a budget of 2.50 (month) at most, each of them.'],
      ['Keys that dora makes are bound to no budget.'],
    ],
    [
      { expires: '2099-01-31' },
      ['Keys that dora makes end at 2099-01-31T00:00:00.000Z at the latest.'],
      ['Keys that dora makes need not end.'],
    ],
    [{ keysMax: '3' }, ['dora may have 3 keys at most.'], ['dora may make as many keys as the group says.']],
  ] as const
  for (const [told, bound, free] of cases) {
    t.strictSame(describeBounds(user, told), bound, caseName({ told }))
    t.strictSame(describeBounds({ name: 'dora', keysMax: null, keyBounds: {} }, told), free, caseName({ told }))
  }
  t.equal(tellModels(['m'], undefined), 'It may use m.')
  const narrow = { name: 'narrow', models: ['sim-*'] }
  t.equal(tellModels(['sim-a'], undefined, narrow), 'It may use sim-a.')
  t.equal(tellModels(['sim-a', 'b'], undefined, narrow), 'It may use sim-a; b is not among the models of group narrow.')
  t.equal(
    tellModels(['b', 'c'], undefined, narrow),
    'It may use no model; b, c are not among the models of group narrow.',
  )
  t.equal(
    tellModels(['sim-*', 's*', 'b*'], undefined, narrow),
    'It may use sim-*, s*; b* is not among the models of group narrow.',
  )
  t.match(tellModels(null, user), /every model that its group may\. Only keys that dora makes are bound to m, n/)
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
      { code: 4, message: /port 0 is any that is free.*--ops host:port/ },
      caseName({ ops: options.ops }),
    )
})
