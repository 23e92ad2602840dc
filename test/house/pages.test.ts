import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { cliPagePath, writeCliPage } from './cli-page.ts'
import { configurationPagePath, writeConfigurationPage } from './configuration-page.ts'
import { manPagePath, writeManPage } from './man-page.ts'

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
