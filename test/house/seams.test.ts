import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
const config = join(root, '.oxlintrc.json')

/** Files that may use the machine's time and randomness, with the reason. All other code receives both as arguments. */
const homes: { readonly [place: string]: string } = {
  'src/util/clock.ts': 'the clock of the system is made there',
  'src/util/random.ts': 'the random numbers of the system are made there',
  'src/cli/**': 'a command is run by a person, in their time; the gateway that it starts takes the clock of the system',
  'src/console/**': 'it runs in a browser, whose timers have no handle to hand in',
  'src/simulator/**': 'a vendor that is played: a peer of the gateway, and no part of it',
}

const slips: readonly { readonly rule: string; readonly line: string }[] = [
  { rule: 'no-restricted-globals', line: 'setTimeout(() => undefined, 5)' },
  { rule: 'no-restricted-globals', line: 'const timer = setInterval(() => undefined, 5)' },
  { rule: 'no-restricted-properties', line: 'const at = Date.now()' },
  { rule: 'no-restricted-properties', line: 'const tell = Date.now' },
  { rule: 'no-restricted-properties', line: 'const at = performance.now()' },
  { rule: 'no-restricted-properties', line: 'const at = process.hrtime()' },
  { rule: 'no-restricted-properties', line: 'const signal = AbortSignal.timeout(5)' },
  { rule: 'no-restricted-properties', line: 'globalThis.setTimeout(() => undefined, 5)' },
  { rule: 'no-restricted-properties', line: 'const { random } = Math' },
  { rule: 'no-restricted-properties', line: "import crypto from 'node:crypto'; crypto.randomBytes(8)" },
  { rule: 'no-restricted-properties', line: 'const id = crypto.randomUUID()' },
  { rule: 'no-restricted-imports', line: "import { randomBytes } from 'node:crypto'" },
  { rule: 'no-restricted-imports', line: "import { setTimeout as sleep } from 'node:timers/promises'" },
  { rule: 'no-restricted-imports', line: "import { setInterval } from 'node:timers'" },
]
/** Code that is not a timer and does not read the time. */
const fine = [
  "import { setImmediate as nextTurn } from 'node:timers/promises'",
  'const at = new Date(clock.now())',
  'const day = Date.parse(text)',
  'const bytes = random.bytes(8)',
]

/** The broken rules of time and randomness in a folder with these files and the same layout, each with its file. */
async function brokenRules(t: Test, files: { readonly [file: string]: string }): Promise<readonly string[]> {
  // A path outside the repository: the lint skips folders that git ignores.
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-lint-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await copyFile(config, join(folder, '.oxlintrc.json'))
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), `${text}\n`)
  }
  // The lint must not load the hooks that the test runner adds to every Node process.
  const args = [
    '-u',
    'NODE_OPTIONS',
    process.execPath,
    join(root, 'node_modules/oxlint/bin/oxlint'),
    '--format',
    'json',
    '.',
  ]
  const stdout = await new Promise<string>((done, failed) =>
    execFile('env', args, { cwd: folder }, (error, out, errorText) =>
      out === '' ? failed(new Error(errorText, { cause: error })) : done(out),
    ),
  )
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] }
  return diagnostics
    .filter(({ code }) => code.includes('no-restricted-'))
    .map(({ code, filename }) => `${/no-restricted-\w+/.exec(code)?.[0]} ${filename}`)
}

t.test('the lint finds each way to read time or chance from the machine, in src and in plugins', async t => {
  const places = slips.map(({ rule, line }, i) => ({
    rule,
    line,
    file: `${i % 2 ? 'src/engine' : 'plugins/x'}/${i}.ts`,
  }))
  const found = await brokenRules(t, Object.fromEntries(places.map(({ file, line }) => [file, line])))
  for (const { rule, line, file } of places) t.ok(found.includes(`${rule} ${file}`), `${line} (${rule})`)
})

t.test('accepts injected clocks, and calls that read no time', async t => {
  t.strictSame(await brokenRules(t, Object.fromEntries(fine.map((line, i) => [`src/engine/${i}.ts`, line]))), [])
})

t.test('the files that read time and chance are the listed ones, each with a reason', async t => {
  const text = slips.map(({ line }) => `{${line.startsWith('import') ? '' : line}}`).join('\n')
  t.strictSame(
    await brokenRules(t, Object.fromEntries(Object.keys(homes).map(home => [home.replace('**', 'home.ts'), text]))),
    [],
  )
  const { overrides } = JSON.parse(await readFile(config, 'utf8')) as {
    overrides: { files: string[]; rules: { [rule: string]: unknown } }[]
  }
  const off = overrides.filter(({ rules }) => Object.values(rules).includes('off')).flatMap(({ files }) => files)
  t.strictSame(off.toSorted(), Object.keys(homes).toSorted())
})

t.test('no `new Date()` reads the current time, and no line disables the lint', async t => {
  const isHome = (file: string): boolean => Object.keys(homes).some(home => file.startsWith(home.replace('**', '')))
  const files = globSync('{src,plugins}/**/*.{ts,tsx}', { cwd: root }).filter(file => !isHome(file))
  t.ok(files.length > 300)
  const pattern = /new Date\(\s*\)|oxlint-disable|eslint-disable/
  for (const slip of ['new Date()', 'new Date( )', '// oxlint-disable-next-line'])
    t.match(slip, pattern, caseName({ slip }))
  const found: string[] = []
  for (const file of files) if (pattern.test(await readFile(join(root, file), 'utf8'))) found.push(file)
  t.strictSame(found, [])
})
