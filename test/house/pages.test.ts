import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { listConfigKeys } from '../../src/index.ts'
import { runCommand } from '../harness/commands.ts'
import { cliPagePath, writeCliPage } from './cli-page.ts'
import { configurationPagePath, writeConfigurationPage } from './configuration-page.ts'
import { manPagePath, writeManPage } from './man-page.ts'
import { exampleFiles, sectionExamples } from './section-examples.ts'

t.test('docs/configuration.md and docs/cli.md are what `npm run docs` writes', async t => {
  t.equal(await readFile(configurationPagePath, 'utf8').catch(() => ''), await writeConfigurationPage())
  t.equal(await readFile(cliPagePath, 'utf8').catch(() => ''), writeCliPage())
})

t.test('docs/tollgate.1 is what `npm run docs` writes, lists every command and flag, and is packaged', async t => {
  const page = await readFile(manPagePath, 'utf8').catch(() => '')
  t.equal(page, writeManPage())
  t.match(page, /^[\t\n\x20-\x7e]*$/, 'ASCII alone')
  const plain = page.replaceAll(/\\f[BIR]/g, '').replaceAll('\\-', '-')
  const cli = await readFile(cliPagePath, 'utf8')
  for (const [, command = ''] of cli.matchAll(/^## `tollgate ([a-z -]+?)[ `]/gm))
    t.ok(new RegExp(`^tollgate ${command}\\b`, 'm').test(plain), `tollgate ${command}`)
  for (const [, flag = ''] of cli.matchAll(/^\| `(?:-\w, )?(--[a-z-]+)/gm)) t.ok(plain.includes(flag), flag)
  const root = resolve(import.meta.dirname, '../..')
  const { man } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly man: string }
  t.equal(resolve(root, man), manPagePath)
})

t.test(
  'every section of docs/configuration.md has an example, and all of them are one valid configuration',
  async t => {
    const sections = (await listConfigKeys()).map(({ path }) => path).filter(path => !path.includes('.'))
    t.strictSame(Object.keys(sectionExamples).toSorted(), sections.toSorted())
    for (const [section, example] of Object.entries(sectionExamples))
      t.ok(example.startsWith(`${section}:`), `${section} begins with its own key`)
    const folder = t.testdir()
    const files = { ...exampleFiles, 'gateway.yaml': `${Object.values(sectionExamples).join('\n')}\n` }
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    const env = {
      PATH: process.env['PATH'],
      VENDOR_API_KEY: 'vendor-key',
      SPARE_API_KEY: 'spare-key',
      STAFF_CLIENT_SECRET: 'client-secret',
      WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    }
    t.match(await runCommand({ cwd: folder, env }, ['check', 'gateway.yaml']), {
      code: 0,
      stderr: /is valid: 4 models/,
    })
  },
)
