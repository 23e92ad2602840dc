import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

/**
 * Runs the import check in a folder with the same layout; returns the broken rules, each with the import that broke it.
 */
async function brokenRules(folder: string): Promise<string[]> {
  const bin = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  const args = [bin, '--config', join(root, '.dependency-cruiser.cjs'), '--output-type', 'json', 'src', 'plugins']
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 }
  const stdout = await new Promise<string>((done, failed) =>
    execFile(process.execPath, args, options, (error, out) => (out === '' ? failed(error) : done(out))),
  )
  const { summary } = JSON.parse(stdout) as {
    summary: { violations: { from: string; to: string; rule: { name: string } }[] }
  }
  return summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} → ${to.replace(/.*node_modules\//, '')}`)
}

const slips: readonly { readonly rule: string; readonly file: string; readonly line: string }[] = [
  { rule: 'util-imports-nothing-of-ours', file: 'src/util/slip.ts', line: "import '../domain/part.ts'" },
  { rule: 'domain-imports-only-util', file: 'src/domain/slip.ts', line: "import '../plugin-api/part.ts'" },
  { rule: 'plugin-api-imports-only-domain', file: 'src/plugin-api/slip.ts', line: "import '../engine/part.ts'" },
  { rule: 'wire-imports-only-types', file: 'src/wire/slip.ts', line: "import '../engine/part.ts'" },
  { rule: 'wire-runs-only-itself', file: 'src/wire/domain-slip.ts', line: "import '../domain/part.ts'" },
  { rule: 'engine-imports-only-shared-folders', file: 'src/engine/slip.ts', line: "import '../config/part.ts'" },
  { rule: 'engine-imports-only-shared-folders', file: 'src/engine/wire-slip.ts', line: "import '../wire/part.ts'" },
  {
    rule: 'plugin-imports-only-the-plugin-api',
    file: 'plugins/one/wire-slip.ts',
    line: "import '../../src/wire/part.ts'",
  },
  { rule: 'config-imports-only-shared-folders', file: 'src/config/slip.ts', line: "import '../engine/part.ts'" },
  {
    rule: 'operations-imports-only-shared-folders',
    file: 'src/operations/slip.ts',
    line: "import '../api-formats/part.ts'",
  },
  {
    rule: 'engine-imports-only-shared-folders',
    file: 'src/engine/name-slip.ts',
    line: "import '../operations/index.ts'",
  },
  {
    rule: 'config-imports-only-shared-folders',
    file: 'src/config/name-slip.ts',
    line: "import '../operations/index.ts'",
  },
  {
    rule: 'observe-imports-only-shared-folders',
    file: 'src/observe/leaf-slip.ts',
    line: "import '../operations/part.ts'",
  },
  {
    rule: 'plugin-imports-only-the-plugin-api',
    file: 'plugins/one/name-slip.ts',
    line: "import '../../src/operations/index.ts'",
  },
  { rule: 'cli-imports-the-library-door', file: 'src/cli/name-slip.ts', line: "import '../operations/index.ts'" },
  {
    rule: 'api-formats-imports-only-shared-folders',
    file: 'src/api-formats/slip.ts',
    line: "import '../engine/part.ts'",
  },
  { rule: 'storage-imports-only-shared-folders', file: 'src/storage/slip.ts', line: "import '../observe/part.ts'" },
  { rule: 'observe-imports-only-shared-folders', file: 'src/observe/slip.ts', line: "import '../storage/part.ts'" },
  { rule: 'admin-imports-only-shared-folders', file: 'src/admin/slip.ts', line: "import '../engine/part.ts'" },
  { rule: 'simulator-imports-only-shared-folders', file: 'src/simulator/slip.ts', line: "import '../engine/part.ts'" },
  {
    rule: 'engine-imports-only-shared-folders',
    file: 'src/engine/type-slip.ts',
    line: "import type { part } from '../config/part.ts'\nexport type P = typeof part",
  },
  { rule: 'plugin-imports-only-the-plugin-api', file: 'plugins/one/slip.ts', line: "import '../two/plugin.ts'" },
  {
    rule: 'plugin-imports-only-the-plugin-api',
    file: 'plugins/one/deep-slip.ts',
    line: "import '../../src/domain/part.ts'",
  },
  {
    rule: 'plugin-imports-only-the-plugin-api',
    file: 'plugins/one/lazy-slip.ts',
    line: "await import('../../src/storage/part.ts')",
  },
  { rule: 'plugin-list-imports-only-plugins', file: 'plugins/index.ts', line: "import './one/leaf.ts'" },
  { rule: 'cli-imports-the-library-door', file: 'src/cli/slip.ts', line: "import '../storage/part.ts'" },
  {
    rule: 'only-the-composition-imports-plugins',
    file: 'src/admin/plugin-slip.ts',
    line: "import '../../plugins/one/plugin.ts'",
  },
  {
    rule: 'only-the-composition-imports-plugins',
    file: 'src/gateway/plugin-finder.ts',
    line: "import '../../plugins/one/plugin.ts'",
  },
  {
    rule: 'only-the-finder-imports-the-list',
    file: 'src/gateway/list-slip.ts',
    line: "import '../../plugins/index.ts'",
  },
  { rule: 'gateway-knows-no-tool', file: 'src/gateway/slip.ts', line: "import '../tools/part.ts'" },
  { rule: 'one-loose-file', file: 'src/loose.ts', line: "import './util/part.ts'" },
  { rule: 'product-never-imports-tests', file: 'src/gateway/gateway.ts', line: "import '../../test/harness.ts'" },
  { rule: 'one-home-for-pino', file: 'src/engine/log-slip.ts', line: "import 'pino'" },
  { rule: 'one-home-for-http-proxy-3', file: 'plugins/one/fetch-slip.ts', line: "import 'http-proxy-3'" },
  { rule: 'packages-have-a-home', file: 'src/storage/package-slip.ts', line: "import 'tap'" },
  { rule: 'no-dev-packages', file: 'src/storage/package-slip.ts', line: "import 'tap'" },
  { rule: 'resolvable', file: 'src/observe/lost-slip.ts', line: "import './nowhere.ts'" },
  { rule: 'no-cycles', file: 'src/config/round.ts', line: "import './trip.ts'" },
  { rule: 'no-cycles', file: 'src/config/typed-round.ts', line: "import type { trip } from './typed-trip.ts'" },
]

t.test('every file imports only what its folder may', async t => {
  t.strictSame(await brokenRules(root), [])
})

t.test('finds a violation of each kind', async t => {
  const tree: { [file: string]: string } = {
    'src/config/trip.ts': "import './round.ts'",
    'src/config/typed-trip.ts': "import type { round } from './typed-round.ts'",
    'test/harness.ts': '',
  }
  for (const folder of [
    'util',
    'domain',
    'plugin-api',
    'engine',
    'config',
    'api-formats',
    'observe',
    'operations',
    'storage',
    'tools',
    'wire',
  ]) {
    tree[`src/${folder}/part.ts`] = 'export const part = 1'
  }
  tree['src/operations/index.ts'] = "export { part } from './part.ts'"
  for (const file of ['plugins/one/plugin.ts', 'plugins/one/leaf.ts', 'plugins/two/plugin.ts']) tree[file] = ''
  for (const { file, line } of slips) tree[file] = line
  const folder = t.testdir()
  for (const [file, content] of Object.entries(tree)) {
    await mkdir(join(folder, file, '..'), { recursive: true })
    await writeFile(join(folder, file), content)
  }
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'))
  const broken = await brokenRules(folder)
  for (const { rule, file } of slips) {
    t.ok(
      broken.some(text => text.startsWith(`${rule}: ${file}`)),
      `${rule} in ${file}`,
    )
  }
  t.notOk(
    broken.find(text => /part\.ts →|leaf\.ts →/.test(text)),
    'nothing else is blamed',
  )
})
