import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { groupFiles, sharing } from '../harness/write-together.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('every test file runs once: in a process with others, or in one of its own', async t => {
  const { include } = parse(await readFile(join(root, '.taprc'), 'utf8')) as { readonly include: readonly string[] }
  const alone = globSync([...include], { cwd: root }).filter(file => !file.startsWith('test/together/'))
  const shared = [...groupFiles().values()].flat()
  t.ok(shared.length > 300)
  t.strictSame(
    [...alone, ...shared].toSorted(),
    globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/together/**'] }).toSorted(),
  )
  t.strictSame([...new Set(shared.map(file => file.split('/')[1]))], sharing)
})

t.test('a file that fails, or leaves its process changed, is reported by name, and the others run', async t => {
  const folder = t.testdir({
    'fails.test.ts': `import t from 'tap'
      t.test('inner', async t => t.ok(false, 'what fails'))`,
    'changes.test.ts': `import t from 'tap'
      t.teardown(() => { process.env['LEFT'] = 'behind' })
      t.test('inner', async t => t.pass())`,
    'throws.test.ts': `throw new Error('thrown at once')`,
    'passes.test.ts': `import './helper.ts'
      import t, { type Test } from 'tap'
      t.test('inner', async (t: Test) => t.pass())`,
    'helper.ts': `import t from 'tap'
      t.test('of a helper', async t => t.pass())`,
    'all.ts': `import { runTogether } from '${join(root, 'test/harness/together.ts')}'
      const names = ['fails', 'changes', 'throws', 'passes']
      await runTogether(names.map(name => import.meta.dirname + '/' + name + '.test.ts'))`,
  })
  const ran = await new Promise<{ readonly code: unknown; readonly said: string }>(done => {
    execFile(process.execPath, [join(folder, 'all.ts')], { cwd: root }, (error, said) =>
      done({ code: error?.code, said }),
    )
  })
  t.equal(ran.code, 1, ran.said)
  const results = [...ran.said.matchAll(/^((?:not )?ok) \d+ - \S+\/(\w+)\.test\.ts( leaves its process changed)?/gm)]
  t.strictSame(
    results.map(([, result, name, change = '']) => `${result}: ${name}${change}`),
    ['not ok: fails', 'ok: changes', 'not ok: changes leaves its process changed', 'not ok: throws', 'ok: passes'],
    ran.said,
  )
  for (const expected of ['what fails', 'thrown at once', '    ok 1 - of a helper'])
    t.match(ran.said, expected, expected)
})
