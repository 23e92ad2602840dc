import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

t.test('the compiled package works like the source', async t => {
  const dist = t.testdir()
  // Not bin/tsc: a module without an extension fails under the hooks that tap adds to every child.
  const tsc = join(root, 'node_modules/typescript/lib/tsc.js')
  const env = { ...process.env, TOLLGATE_STORAGE: `sqlite:${join(t.testdirName, 'build.db')}` }
  await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', dist], { cwd: root })
  const tollgate = (...args: string[]) =>
    run(process.execPath, [join(dist, 'src/cli/tollgate.cjs'), ...args], { cwd: root, env })

  await t.test('the command prints its version', async t => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    t.equal((await tollgate('version')).stdout.trim(), version)
  })

  await t.test('the shipped configuration is valid', async t => {
    await t.resolves(tollgate('check', 'gateway.yaml'))
  })

  await t.test('storage finds the compiled files of its threads', async t => {
    const { stdout } = await tollgate('keys', 'create', '--name', 'built', '--format', 'json')
    t.match(JSON.parse(stdout), { key: /^sk-/ })
  })

  await t.test('a gateway can be embedded, with types', async t => {
    const library = (await import(join(dist, 'src/index.js'))) as typeof import('../../src/index.ts')
    const text = await readFile(join(root, 'gateway.yaml'), 'utf8')
    const gateway = await library.createGateway(
      { text },
      { env: { TOLLGATE_STORAGE: 'sqlite::memory:', TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: '127.0.0.1:0' } },
    )
    const { url } = await gateway.listen()
    t.equal((await fetch(`${url}/v1/models`)).status, 401)
    await gateway.close()
    t.match(await readFile(join(dist, 'src/index.d.ts'), 'utf8'), 'createGateway')
  })
})
