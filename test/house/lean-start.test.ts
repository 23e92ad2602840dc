import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

/** Runs code as a module in a process without the hooks that tap adds to every child, and returns its output. */
async function run(code: string, options: readonly string[] = []): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [...options, '--input-type=module', '-e', code], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  return JSON.parse(stdout)
}

t.test('a serving process without a proxy loads neither undici, and other code can load that of Node', async t => {
  const result = await run(`
    const { createRequire } = await import('node:module')
    const require = createRequire(import.meta.url)
    const { prepareProcess } = await import('./src/index.ts')
    const has = () => process.moduleLoadList.some(name => name.endsWith('deps/undici/undici'))
    const release = await prepareProcess()
    await import('./src/gateway/gateway.ts')
    await import('./src/engine/index.ts')
    await release()
    const before = has()
    const hasPackage = Object.keys(require.cache).some(name => name.includes('node_modules/undici/'))
    const http = require('node:http')
    const names = [typeof http.WebSocket, typeof http.CloseEvent, typeof http.MessageEvent, typeof WebSocket, typeof fetch]
    console.log(JSON.stringify({ before, hasPackage, names, after: has() }))
  `)
  t.strictSame(result, { before: false, hasPackage: false, names: Array(5).fill('function'), after: true })
})

t.test('the built-in configuration is read without a schema compiler', async t => {
  const result = await run(`
    const { loadConfig } = await import('./src/index.ts')
    const { ok } = await loadConfig('gateway.yaml', {})
    const { createRequire } = await import('node:module')
    const loaded = Object.keys(createRequire(import.meta.url).cache).filter(name => /ajv.dist.(?!runtime)/.test(name))
    console.log(JSON.stringify({ ok, loaded }))
  `)
  t.strictSame(result, { ok: true, loaded: [] })
})

t.test('a signer and its library are loaded when a configuration names it', async t => {
  const result = (await run(`
    const { registerHooks } = await import('node:module')
    const loaded = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context)
        const [name] = /plugins\\/[a-z0-9-]+\\/plugin|node_modules\\/(?:jose|aws4fetch)\\//.exec(found.url) ?? []
        if (name) loaded.add(name.replace(/.*(?:plugins|node_modules)\\//, '').replace(/\\/.*/, ''))
        return found
      },
    })
    const { checkConfig } = await import('./src/index.ts')
    const { readFile } = await import('node:fs/promises')
    const text = await readFile('gateway.yaml', 'utf8')
    const env = { ALPHA_URL: 'https://alpha.example', ALPHA_API_KEY: 'k' }
    const plain = (await checkConfig({ text }, env)).ok
    const without = [...loaded]
    const credential = 'credential: { sign: jwt-hs256, with: { access_key: a, secret_key: b } }'
    const changed = text.replace(/credential: \\{ header: authorization, value: "Bearer \\$\\{ALPHA.*/, credential)
    const signed = (await checkConfig({ text: changed }, env)).ok
    console.log(JSON.stringify({ plain, signed, without, more: [...loaded].filter(name => !without.includes(name)) }))
  `)) as { readonly without: readonly string[] }
  t.match(result, { plain: true, signed: true, more: ['jwt-hs256', 'jose'] })
  const signing = ['aws-sigv4', 'google-token', 'jwt-hs256', 'oauth-client', 'tc3-hmac', 'jose', 'aws4fetch']
  t.same(
    result.without.filter(name => signing.includes(name)),
    [],
  )
})

/** The size in MiB of V8's space for young objects, after creating many objects of which some survive for a while. */
const churn = `
  const kept = []
  for (let turn = 0; turn < 400; turn++) {
    for (let i = 0; i < 20000; i++) kept[(turn * 20000 + i) % 2400000] = { i, text: [i, turn] }
    await new Promise(resolve => setImmediate(resolve))
  }
  const { getHeapSpaceStatistics } = await import('node:v8')
  console.log(getHeapSpaceStatistics().find(space => space.space_name === 'new_space').space_size / 1048576)
`
const bound = `(await import('./src/gateway/tune-heap.ts')).tuneHeap()\n`

t.test('the young generation gets at most 64 MiB by default', async t => {
  const free = (await run(churn)) as number
  const bounded = (await run(bound + churn)) as number
  t.ok(bounded >= 16 && bounded <= 64, `bounded: ${bounded} MiB`)
  t.ok(free >= 1.5 * bounded, `V8 by itself: ${free} MiB`)
  const configured = (await run(bound + churn, ['--max-semi-space-size=48'])) as number
  t.ok(configured > bounded, `by the operator's own bound: ${configured} MiB`)
})
