import { type ExecFileException, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { chargedBy } from '../harness/call-fee.ts'
import { editShipped } from '../harness/project.ts'
import type { Edits } from '../harness/start.ts'

const root = resolve(import.meta.dirname, '../..')
const example = join(root, 'docs/examples/plugin-prompt-guard')
/** As in a plain shell: without the hooks that tap adds to every child, and with this Node first in PATH. */
const env = {
  ...process.env,
  NODE_OPTIONS: '',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  TOLLGATE_LISTEN: '127.0.0.1:0',
  TOLLGATE_OPS: 'off',
}
const run = (cwd: string, command: string, ...args: string[]) =>
  promisify(execFile)(command, args, { cwd, env, maxBuffer: 16 * 1024 * 1024 })
// Not bin/tsc: see build.test.ts.
const tsc = (cwd: string, ...args: string[]) =>
  run(cwd, process.execPath, join(root, 'node_modules/typescript/lib/tsc.js'), ...args)
const npm = (cwd: string, command: string, ...args: string[]) =>
  run(cwd, 'npm', command, '--no-audit', '--no-fund', '--prefer-offline', ...args)

type Packed = {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** Runs `npm pack`. Builds outside of dist, which other tests read and `npm run build` removes first. */
async function pack(folder: string): Promise<Packed> {
  const stage = join(folder, 'stage')
  await mkdir(stage, { recursive: true })
  const copied = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'gateway.yaml', 'schemas', 'docs', 'plugins']
  for (const name of [...copied, 'src', 'test/house', 'dist/console', 'dist/pages', 'dist/schemas.cjs'])
    await cp(join(root, name), join(stage, name), { recursive: true, filter: from => !from.endsWith('screenshots') })
  // build.test.ts checks the types of the same code.
  await tsc(root, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(stage, 'dist'))
  const { stdout } = await run(stage, 'npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder)
  const answer = JSON.parse(stdout) as Packed[] | { readonly [name: string]: Packed }
  return Object.values(answer)[0] as Packed
}

/** The folders of the image, copied from the build as in the last step of the Dockerfile. */
async function layImage(stage: string, folder: string): Promise<string> {
  const [, last = ''] = (await readFile(join(root, 'Dockerfile'), 'utf8')).split(/^FROM .+ AS build$/m)
  const home = join(folder, 'image')
  for (const [, names = '', to = ''] of last.matchAll(/^COPY --from=build (.+) (\S+)$/gm))
    for (const name of names.split(' ').map(path => path.replace('/build/', ''))) {
      if (to.startsWith('/')) continue
      const target = to.endsWith('/') ? join(home, 'app', to, name) : join(home, 'app', to)
      await mkdir(dirname(target), { recursive: true })
      if (name === 'node_modules') await symlink(join(root, name), target)
      else await cp(join(stage, name), target, { recursive: true })
    }
  return join(home, 'app')
}

/** Runs `serve`, and waits until it responds and has created its first key. */
async function serve(t: Test, cwd: string, command: string, ...args: string[]) {
  const child = spawn(command, [...args, 'serve'], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let url = ''
  let keyFile = ''
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line)
    url ||= /^tollgate +(http:\S+)\/v1 /.exec(line)?.[1] ?? ''
    keyFile ||= /API key \(\S+\) in (\S+) \(mode 600\)/.exec(line)?.[1] ?? ''
    if (url !== '' && keyFile !== '') break
  }
  child.stderr.resume()
  t.ok(keyFile, lines.join('\n'))
  return { child, url, key: (await readFile(keyFile, 'utf8')).trim() }
}

let folders = 0

/** Serves both examples of plugins, in a folder without an installed `tollgate` package: one refuses, one bills. */
async function tryPlugins(t: Test, folder: string, command: string): Promise<void> {
  const place = join(folder, `plugins-${++folders}`)
  for (const name of ['plugin-prompt-guard', 'plugin-call-fee'])
    await cp(join(root, 'docs/examples', name), join(place, name), { recursive: true })
  const guard: Edits = [
    ['[auth, ratelimit,', '[auth, ratelimit, ./plugin-prompt-guard/index.js,'],
    { 'families/alpha-image/prompt-guard': { words: ['dragon'] } },
  ]
  await writeFile(
    join(place, 'gateway.yaml'),
    await editShipped([...guard, ...chargedBy('./plugin-call-fee/index.js')]),
  )
  const { child, url, key } = await serve(t, place, process.execPath, command)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const refused = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a dragon' })
  t.equal(refused.status, 403)
  t.match(await refused.json(), { error: { code: 'prompt_refused' } })
  const ranked = await post('/v1/rerank', { model: 'sim-rerank', query: 'a', documents: ['a', 'b'] })
  t.equal(ranked.status, 200)
  const charge = await fetch(`${url}/v1/charges/${ranked.headers.get('x-request-id')}`, { headers })
  t.match(await charge.json(), { state: 'settled', amount: '0.05' })
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'exit'), [0, null])
}

/** Whether packages cannot be installed here: no `npm ci` cache, and no connection to a registry. */
function isCutOff(error: unknown): boolean {
  return /ENOTCACHED|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(
    (error as ExecFileException).stderr ?? '',
  )
}

t.test('the published package', async t => {
  // Outside the repository, whose own node_modules would supply packages that this one lacks.
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-package-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const packed = await pack(folder)
  const stage = join(folder, 'stage')
  const project = join(folder, 'try')
  const home = join(project, 'node_modules/tollgate')
  const tollgate = join(project, 'node_modules/.bin/tollgate')
  await mkdir(project)

  t.test('contains the program, the console, the schema and the docs, and nothing else', async t => {
    t.comment(`${packed.files.length} files, ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`)
    const paths = packed.files.map(({ path }) => path)
    for (const path of [
      'dist/src/cli/tollgate.cjs',
      'dist/src/index.js',
      'dist/src/index.d.ts',
      'dist/console/index.html',
      'dist/pages/index.js',
      'dist/schemas.cjs',
    ])
      t.ok(paths.includes(path), path)
    for (const path of ['schemas/gateway.schema.json', 'gateway.yaml', 'docs/plugins.md', 'README.md', 'LICENSE'])
      t.ok(paths.includes(path), path)
    const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: string[] }
    t.ok(files.includes('!docs/screenshots'), 'pictures of the console stay in the repository')
    const allowed =
      /^(?:dist|docs|schemas)\/|^plugins\/[\w-]+\/README\.md$|^(?:[A-Z]+(?:\.zh)?(?:\.md)?|package\.json|gateway\.yaml)$/
    t.strictSame(
      paths.filter(
        path => !allowed.test(path) || /(?:^|\/)test\/|^docs\/screenshots|(?<!\.d)\.tsx?$|\.map$/.test(path),
      ),
      [],
    )
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object }
    t.match(scripts, { prepack: 'npm run -s build' }, 'and its content is built during packing')
  })

  t.test('third-party plugins run in a built clone, which runs its sources', async t => {
    await symlink(join(root, 'node_modules'), join(stage, 'node_modules'))
    await tryPlugins(t, folder, join(stage, 'src/cli/tollgate.cjs'))
  })

  t.test('the image', async t => {
    const app = await layImage(stage, folder)
    const command = join(app, 'dist/src/cli/tollgate.cjs')

    t.test('runs third-party plugins', t => tryPlugins(t, folder, command))

    t.test('has the package files that each command reads', async t => {
      const cwd = join(folder, 'etc')
      await mkdir(cwd)
      const tollgate = (...args: string[]) => run(cwd, process.execPath, command, ...args)
      const names = (await tollgate('recipes', '--format', 'json')).stdout.trim().split('\n')
      t.ok(names.length > 10, `${names.length} recipes`)
      await tollgate('init', '--vendor', 'fal')
      t.match(await readFile(join(cwd, 'gateway.yaml'), 'utf8'), /fal/)
      t.match((await tollgate('check')).stderr, /gateway\.yaml is valid/)
      t.equal((await tollgate('schema')).stdout, await readFile(join(root, 'schemas/gateway.schema.json'), 'utf8'))
    })
  })

  try {
    await writeFile(join(project, 'package.json'), '{ "private": true }')
    await npm(project, 'install', '--package-lock-only', join(folder, packed.filename))
    const began = performance.now()
    await npm(project, 'ci', '--ignore-scripts')
    t.comment(`npm ci took ${Math.round(performance.now() - began)} ms`)
  } catch (error) {
    if (!isCutOff(error)) throw error
    t.pass('is installed', { skip: 'neither a registry nor a cache of npm is here' })
    return
  }

  t.test('is installed without a script of any package [X11]', async t => {
    const lock = await readFile(join(project, 'node_modules/.package-lock.json'), 'utf8')
    const { packages } = JSON.parse(lock) as { packages: { [path: string]: { hasInstallScript?: boolean } } }
    t.ok(Object.keys(packages).length > 10)
    t.strictSame(
      Object.keys(packages).filter(path => packages[path]?.hasInstallScript),
      [],
    )
    t.notOk((await readdir(home)).includes('src'))
  })

  t.test('has the command tollgate: version, schema and check', async t => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    t.equal((await run(project, 'npx', '--no-install', 'tollgate', 'version')).stdout.trim(), version)
    t.equal(
      (await run(project, tollgate, 'schema')).stdout,
      await readFile(join(home, 'schemas/gateway.schema.json'), 'utf8'),
    )
    await cp(join(home, 'gateway.yaml'), join(project, 'gateway.yaml'))
    t.match((await run(project, tollgate, 'check')).stderr, /gateway\.yaml is valid/)
  })

  t.test('serves: ready, console, first picture, end', async t => {
    const began = performance.now()
    const { child, url, key } = await serve(t, project, tollgate)
    t.comment(`ready after ${Math.round(performance.now() - began)} ms`)
    const page = await fetch(`${url}/console/`)
    t.equal(page.status, 200)
    t.match(await page.text(), /<script type="module"[^>]+src="\/console\/assets\//, 'built')
    t.match(await (await fetch(`${url}/pricing?lang=en`)).text(), /<h1>Pricing<\/h1>/)
    const image = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' }),
    })
    t.equal(image.status, 200)
    await image.arrayBuffer()
    t.comment(`first picture after ${Math.round(performance.now() - began)} ms`)
    child.kill('SIGTERM')
    t.strictSame(await once(child, 'exit'), [0, null])
  })

  t.test('runs third-party plugins', t => tryPlugins(t, folder, join(home, 'dist/src/cli/tollgate.cjs')))

  t.test('is a library for JavaScript, with a plugin that is a package too', async t => {
    await npm(project, 'install', '--install-links', example)
    const yaml = await readFile(join(home, 'gateway.yaml'), 'utf8')
    const guarded = yaml
      .replace('ratelimit,', 'ratelimit, tollgate-plugin-prompt-guard,')
      .replace('\n  alpha-image:\n', '\n  alpha-image:\n    prompt-guard: { words: [dragon] }\n')
    await writeFile(join(project, 'guarded.yaml'), guarded)
    await writeFile(
      join(project, 'use.mjs'),
      `import { createGateway, createKey } from 'tollgate'
      process.env.TOLLGATE_STORAGE = 'sqlite::memory:'
      await using gateway = await createGateway('guarded.yaml')
      const { url } = await gateway.listen()
      const { secret } = await createKey(gateway.storage, { name: 'a', user: 'local' })
      for (const prompt of ['a boat', 'a dragon']) {
        const headers = { authorization: 'Bearer ' + secret, 'content-type': 'application/json' }
        const body = JSON.stringify({ model: 'alpha-image-2', prompt })
        console.log((await fetch(url + '/v1/images/generations', { method: 'POST', headers, body })).status)
      }`,
    )
    t.equal((await run(project, process.execPath, 'use.mjs')).stdout.replaceAll(/^\{.*\n/gm, ''), '200\n403\n')
  })

  t.test('is a library for TypeScript, strict, with its types', async t => {
    await mkdir(join(project, 'node_modules/@types'), { recursive: true })
    await symlink(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'))
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.mts'] }))
    await writeFile(join(project, 'use.mts'), typed)
    await t.resolves(tsc(project))
    const { stdout } = await run(project, process.execPath, 'use.mjs')
    t.strictSame(stdout.trim().split('\n'), ['ConfigError true', 'StorageError storage_url', 'true warn'])
  })

  t.test("is refused by an old Node with the command's message", async t => {
    const old = await findOldNode()
    if (old === undefined) {
      t.pass('old', { skip: 'this machine has no Node older than the one that is needed' })
      return
    }
    await writeFile(join(project, 'old.mjs'), "await import('tollgate').catch(error => console.log(error.message))")
    const { stdout } = await run(project, old, 'old.mjs')
    t.match(
      stdout,
      /^tollgate needs Node 24\.14\.1 or newer, and this is v[^]*install Node 24 and put it first in PATH/,
    )
    await t.rejects(run(project, old, join(home, 'dist/src/cli/tollgate.cjs'), 'version'), {
      code: 1,
      stderr: stdout.trim(),
    })
  })
})

/** The first Node in PATH that is older than the package's minimum version. */
async function findOldNode(): Promise<string | undefined> {
  const found = (process.env['PATH'] ?? '').split(delimiter).map(folder => join(folder, 'node'))
  for (const node of found) {
    const result = await run(root, node, '-p', 'process.versions.node').catch(() => undefined)
    if (result && Number(result.stdout.split('.')[0]) < 24) return node
  }
  return undefined
}

/**
 * Types of options follow from their schema: `@ts-expect-error` fails the compilation if a wrong use is not an error.
 */
const typed = `
import {
  ConfigError,
  createGateway,
  createKey,
  definePlugin,
  type Gateway,
  type GatewayLog,
  type GatewayParts,
  type Key,
  type Log,
  openStorage,
  type Plan,
  type ReloadResult,
  StorageError,
  type StorageErrorCode,
} from 'tollgate'

const mine = definePlugin({
  name: 'mine',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['limit'],
    properties: { limit: { type: 'integer', minimum: 1 } },
  },
  create: options => ({ onTarget: (context, target) => void (context.id + target.model.name + options.limit.toFixed()) }),
})

const lines: string[] = []
const log: Log = {
  debug: () => undefined,
  info: (_facts, text) => void lines.push('info ' + text),
  warn: (_facts, text) => void lines.push('warn ' + text),
  error: (_facts, text) => void lines.push('error ' + text),
}
const parts: GatewayParts = { plugins: [mine], env: { TOLLGATE_STORAGE: 'sqlite::memory:', TOLLGATE_OPS: 'off', TOLLGATE_LISTEN: '127.0.0.1:0' }, log }

try {
  await createGateway({ text: 'version: 1' }, parts)
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  const places: readonly string[] = error.findings.map(({ line, col, message }) => line + ':' + col + ' ' + message)
  console.log(error.name, places.length > 0)
}
try {
  await openStorage({ url: 'nothing:', role: 'tool' })
} catch (error) {
  if (!(error instanceof StorageError)) throw error
  const code: StorageErrorCode = error.code
  console.log(error.name, code)
}

const gateway: Gateway = await createGateway('gateway.yaml', parts)
const { url }: { url: string } = await gateway.listen()
const { key, secret }: { key: Key; secret: string } = await createKey(gateway.storage, { name: 'a', user: 'local' })
const result: ReloadResult = await gateway.reload()
export const told: string = result.ok ? result.changes.join() : result.findings.map(({ line, col }) => line + ':' + col).join() + url
const plan: Plan = gateway.plan
const complete: GatewayLog = gateway.log
complete.warn({ key: key.id, revision: plan.revision }, secret)
const [last = ''] = lines.slice(-1)
console.log(gateway.ready, last.split(' ')[0])
await gateway[Symbol.asyncDispose]()

definePlugin({
  name: 'wrong',
  options: { type: 'object', required: ['limit'], additionalProperties: false, properties: { limit: { type: 'integer' } } },
  // @ts-expect-error limit is a number
  create: options => ({ onTarget: () => void options.limit.toUpperCase() }),
})
`
