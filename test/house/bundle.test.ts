import { execFile } from 'node:child_process'
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const program = `
  require('./test/harness/bundled.cjs').useIfFresh()
  import('./src/one/a.ts').then(({ said, fail }) => {
    let stack
    try { fail() } catch (error) { stack = error.stack }
    console.log(JSON.stringify({ said, isBundled: process.env.TEST_BUNDLE !== undefined, stack }))
  })`

t.test('tests load the bundle of the sources as they are, never as they were, and stacks name sources', async t => {
  const folder = t.testdir()
  for (const part of ['src/one', 'plugins', 'test/harness', 'node_modules'])
    await mkdir(join(folder, part), { recursive: true })
  for (const file of ['bundle.ts', 'bundled.cjs'])
    await copyFile(join(root, 'test/harness', file), join(folder, 'test/harness', file))
  for (const name of ['rolldown', 'yaml'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const write = (file: string, text: string): Promise<void> => writeFile(join(folder, 'src/one', file), text)
  const env = { ...process.env, NODE_OPTIONS: '', TEST_BUNDLE: undefined }
  const run = async (code: string): Promise<string> =>
    (await promisify(execFile)(process.execPath, ['-e', code], { cwd: folder, env })).stdout
  const found = async () =>
    JSON.parse(await run(program)) as { readonly said: unknown; readonly isBundled: boolean; readonly stack: string }

  await write(
    'b.ts',
    "import { parse } from 'yaml'\nexport const list: number[] = [...parse('[1]'), import.meta.url.endsWith('b.ts')]\n",
  )
  await write(
    'a.ts',
    "export { list as said } from './b.ts'\n\nexport function fail(): never {\n  throw new Error('no')\n}\n",
  )
  t.notOk((await found()).isBundled, 'there is none yet')
  await run("import('./test/harness/bundle.ts').then(({ bundleSources }) => bundleSources())")
  const bundled = await found()
  t.strictSame(bundled.said, [1, true])
  t.ok(bundled.isBundled)
  t.match(bundled.stack, /^Error: no\n {4}at fail \(file:.*\/src\/one\/a\.ts:4:9\)\n/)

  await write(
    'b.ts',
    "import { parse } from 'yaml'\nexport const list: number[] = [...parse('[2]'), import.meta.url.endsWith('b.ts')]\n",
  )
  const changed = await found()
  t.strictSame(changed.said, [2, true])
  t.notOk(changed.isBundled)
})
