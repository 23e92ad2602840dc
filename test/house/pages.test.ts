import { readFile } from 'node:fs/promises'
import t from 'tap'
import { cliPagePath, writeCliPage } from './cli-page.ts'
import { configurationPagePath, writeConfigurationPage } from './configuration-page.ts'

t.test('docs/configuration.md and docs/cli.md are what `npm run docs` writes', async t => {
  t.equal(await readFile(configurationPagePath, 'utf8').catch(() => ''), await writeConfigurationPage())
  t.equal(await readFile(cliPagePath, 'utf8').catch(() => ''), writeCliPage())
})
