import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { parse } from 'yaml'
import { sharedRows } from '../../src/domain/index.ts'
import { errorsPagePath, readErrorTables, writeErrorsPage } from './errors-page.ts'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: root })
const tracked = stdout.split('\0').filter(file => file !== '')
const read = (file: string) => readFile(join(root, file), 'utf8')
const product = tracked.filter(file => /^(?:src|plugins)\/.*\.ts$/.test(file))

/** Lines of the files that match a pattern, as `file:line: text`. */
async function findLines(
  files: readonly string[],
  pattern: RegExp,
  prepare = (line: string) => line,
): Promise<string[]> {
  const found: string[] = []
  for (const file of files) {
    const lines = (await read(file).catch(() => '')).split('\n')
    for (const [i, line] of lines.entries()) {
      if (pattern.test(prepare(line))) found.push(`${file}:${i + 1}: ${line.trim()}`)
    }
  }
  return found
}

/** Words of a line of code, with names split: `imageBytes` is two words. */
function splitNames(line: string): string {
  return line.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ')
}

const gateway = parse(await read('gateway.yaml')) as { models: object }
const modelNames = Object.keys(gateway.models)

t.test('the engine and its body readers contain nothing about pictures, money, models or vendors', async t => {
  const words = ['image', 'pixel', 'prompt', 'tier', 'openai', 'anthropic', 'claude', 'google', 'gemini']
  const pattern = new RegExp(String.raw`\b(?:${words.join('|')})s?\b`, 'i')
  // Readers of described answers handle pictures; the engine does not use them.
  const engine = product.filter(file => /^src\/(?:engine|wire)\/(?!answers\/)/.test(file))
  t.ok(engine.some(file => file.startsWith('src/wire/')))
  t.strictSame(await findLines(engine, pattern, splitNames), [])
})

t.test('no code names a model: gateway.yaml has them all', async t => {
  t.ok(modelNames.length >= 2)
  const files = product.filter(file => !file.startsWith('src/simulator/'))
  const pattern = new RegExp(modelNames.map(name => RegExp.escape(name)).join('|'), 'i')
  t.strictSame(await findLines(files, pattern), [])
})

t.test('[10] no code names an image vendor, except recipes, simulators and signing plugins', async t => {
  const makers = ['xai', 'grok', 'gemini', 'imagen', 'vertex', 'seedream', 'doubao', 'bytedance', 'volcengine', 'qwen']
  const more = ['dashscope', 'alibaba', 'wan', 'flux', 'bfl', 'fal', 'replicate', 'stability', 'ideogram', 'recraft']
  const others = ['minimax', 'bedrock', 'amazon', 'aws', 'kling', 'luma', 'leonardo', 'firefly', 'tencent', 'hunyuan']
  const rest = ['openrouter', 'azure', 'midjourney', 'zhipu', 'fireworks', 'deepinfra', 'dall', 'gpt']
  // Names of signature schemes contain their makers' names.
  const schemes = /aws-?sigv4/gi
  // The names of price sources are the names of their makers.
  const tables = /^export const priceSources = .*/
  const code = (line: string) =>
    splitNames(
      line
        .replace(/^\s*(?:\*|\/\/|\/\*).*|\s\/\/ .*$/, '')
        .replace(tables, '')
        .replaceAll(schemes, ''),
    )
  // Names of files and settings of other programs that the code reads and writes.
  const apart =
    /^(?:(?:src\/(?:simulator|tools\/(?:import|prices)|api-formats)|plugins\/(?:aws-sigv4|google-token|tc3-hmac))\/|src\/cli\/agents\.ts$)/
  const files = product.filter(file => !apart.test(file))
  const pattern = new RegExp(String.raw`\b(?:${[...makers, ...more, ...others, ...rest].join('|')})\b`, 'i')
  t.ok(files.some(file => file.startsWith('plugins/translate/')) && files.some(file => file.startsWith('src/gateway/')))
  t.match(code("if (vendor === 'seedream')"), pattern)
  t.strictSame(await findLines(files, pattern, code), [])
})

t.test('no code contains a price', async t => {
  const files = product.filter(file => !file.startsWith('src/simulator/'))
  const price = /\b(?:price|amount)\w*\s*[:=]\s*['"]?(?!0\b(?!\.))\d/i
  const code = (line: string) => line.replace(/^\s*(?:\*|\/\/|\/\*).*|\s\/\/ .*$/, '')
  t.match('const price = "0.04"', price)
  t.match('priceMicros: 40_000,', price)
  t.notMatch('amount: 0,', price)
  t.strictSame(await findLines(files, price, code), [])
})

t.test('no file names this machine or a package host', async t => {
  const names = [
    ['/', 'work', '/'],
    ['/', 'farm', '/'],
    ['/', 'root', '/'],
    ['registry', '.npmjs'],
    ['deb', '.debian'],
  ]
  const pattern = new RegExp(names.map(parts => RegExp.escape(parts.join(''))).join('|'))
  t.strictSame(await findLines(tracked, pattern), [])
})

t.test('the lock file names no host, so that any mirror serves `npm ci`', async t => {
  for (const file of ['package-lock.json', 'bench/package-lock.json']) t.notMatch(await read(file), /"resolved"/, file)
})

t.test("an older npm warns only of our package's newer Node", async t => {
  const { packages } = JSON.parse(await read('package-lock.json')) as { packages: { [path: string]: object } }
  t.strictSame(
    Object.keys(packages).filter(path => 'engines' in (packages[path] as object)),
    [''],
  )
})

t.test(
  'the lock file has the packages of every platform, which `npm ci` requires; `npm run lock` adds them',
  async t => {
    for (const file of ['package-lock.json', 'bench/package-lock.json']) {
      const { packages } = JSON.parse(await read(file)) as {
        packages: { [path: string]: { optionalDependencies?: { [name: string]: string } } }
      }
      const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
        Object.keys(optionalDependencies),
      )
      const locked = new Set(Object.keys(packages).map(path => path.replace(/.*node_modules\//, '')))
      t.strictSame(
        wanted.filter(name => !locked.has(name)),
        [],
        file,
      )
    }
  },
)

t.test('versions are exact, and the refused Node version is the required one', async t => {
  const { dependencies, devDependencies, engines } = JSON.parse(await read('package.json')) as {
    dependencies: { [name: string]: string }
    devDependencies: { [name: string]: string }
    engines: { node: string }
  }
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    t.match(version, /^(?:npm:.+@)?\d/, name)
  const [, needed] = /needed = '([\d.]+)'/.exec(await read('src/cli/old-node.cjs')) ?? []
  t.equal(engines.node, `>=${needed}`)
})

t.test('an older Node is refused with the remedy before anything else is read', async t => {
  const text = await read('src/cli/old-node.cjs')
  const loaded: { exports?: (running: object) => string | undefined } = {}
  runInNewContext(text, { module: loaded })
  const describe = (version: string, env: NodeJS.ProcessEnv = {}) =>
    loaded.exports?.({ versions: { node: version }, version: `v${version}`, execPath: 'node', env })
  for (const [version, refused] of [
    ['12.22.12', true],
    ['20.20.2', true],
    ['24.13.9', true],
    ['24.14.0', true],
    ['24.14.1', false],
    ['24.21.0', false],
    ['26.0.0', false],
  ] as const) {
    const message = describe(version)
    t.equal(message !== undefined, refused, version)
    if (refused) t.match(message, /24\.14\.1 or newer[^]*npm ci/, caseName({ version, refused }))
  }
  t.match(describe('20.20.2'), /^In a clone: `npm ci`/m)
  const without = /no Node comes along: install Node 24[^]*or run\n`npm ci` with them/
  t.match(describe('20.20.2', { npm_config_omit: 'dev' }), without, 'what npm leaves out does not bring a Node')
  t.match(describe('20.20.2', { NODE_ENV: 'production' }), without)
  for (const name of ['old-node', 'guard'])
    t.notMatch(await read(`src/cli/${name}.cjs`), /\b(?:const|let)\b|=>/, `${name}: only what an old Node can read`)

  let output = ''
  let code: number | undefined
  const stderr = { write: (words: string) => void (output += words) }
  const old = { versions: { node: '20.20.2' }, env: {}, stderr, exit: (n: number) => void (code = n) }
  runInNewContext(await read('src/cli/guard.cjs'), { process: old, require: () => loaded.exports })
  t.match(output, /needs Node 24\.14\.1 or newer/)
  t.equal(code, 1)
  const [first] = (await read('src/index.ts')).split('\n')
  t.equal(first, "import './cli/refuse-old-node.ts'", 'the library checks the version first, too')
})

t.test('every npm script checks the Node version first', async t => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: { [name: string]: string } }
  for (const [name, script] of Object.entries(scripts)) {
    // The command checks the Node version first.
    const guarded = /^(?:exec )?node (?:(?:-r \.\/)?src\/cli\/guard|src\/cli\/tollgate)\.cjs/.test(script)
    const chained = script.startsWith('npm run -s ') || (name === 'test' && scripts['pretest'] !== undefined)
    t.ok(guarded || chained, name)
  }
  const [first] = (await read('src/cli/tollgate.cjs')).match(/^(?:require|void|const).*$/gm) ?? []
  t.equal(first, "require('./guard.cjs')", 'the command checks the version first')
})

t.test(
  'random cases of the suite come from one seed (test/harness/seed.ts), so that a rare failure blocks no other change',
  async t => {
    const tests = tracked.filter(file => /^test\/.*\.test\.ts$/.test(file) && file !== 'test/house/house.test.ts')
    t.ok(tests.length > 300)
    t.strictSame(await findLines(tests, /Math\.random\(|Date\.now\(\) %|rev-parse|randomInt\(/), [])
  },
)

t.test('errors', async t => {
  const tables = await readErrorTables()

  t.test('docs/errors.md is what `npm run docs` writes', async t => {
    t.equal(await readFile(errorsPagePath, 'utf8').catch(() => ''), writeErrorsPage(tables))
  })

  t.test('a code is in one table, or is a shared row', async t => {
    const codes = [...tables.values()].flatMap(table => Object.keys(table))
    const shared = Object.keys(sharedRows)
    t.strictSame(
      codes.filter((code, i) => codes.indexOf(code) !== i && !shared.includes(code)),
      [],
    )
    for (const table of tables.values()) {
      for (const [code, row] of Object.entries(sharedRows))
        if (code in table) t.same(table[code], row, caseName({ table, code, row }))
    }
  })

  t.test('every text is a sentence', async t => {
    for (const table of tables.values()) {
      for (const [code, { text, status }] of Object.entries(table)) {
        t.ok(status >= 400 && status <= 599 && text.length >= 20, code)
      }
    }
  })
})
