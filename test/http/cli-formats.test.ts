import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import t from 'tap'
import { createProgram } from '../../src/cli/program.ts'
import { caseName } from '../harness/case-name.ts'
import { runMany } from '../harness/many-commands.ts'
import { picture } from '../harness/pictures.ts'
import { openShop } from '../harness/shop.ts'

/** Commands with an action of their own, by their names after the program's. */
function* commandsOf(command: Command, path = ''): Generator<readonly [path: string, command: Command]> {
  for (const child of command.commands) {
    const own = `${path} ${child.name()}`.trim()
    if (child.commands.length === 0 || child.options.length > 0) yield [own, child]
    yield* commandsOf(child, own)
  }
}

const isRecord = (line: string): boolean => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

t.test('without a terminal and with --format json, programs can read all output of every command', async t => {
  const shop = await openShop(t)
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  const { id } = await shop.ask({ model: 'alpha-image-2', prompt: 'a boat' })
  await shop.settled()
  const { id: other } = await shop.newKey()
  // Arguments of some commands; the others get a word for each argument, and may refuse it.
  const given: { readonly [path: string]: readonly string[] } = {
    check: ['CONFIG'],
    init: ['made', '--yes'],
    recipes: [],
    fmt: ['CONFIG', '--check'],
    lint: ['CONFIG'],
    config: ['server'],
    diff: [],
    docs: ['server.listen'],
    reload: [],
    status: [],
    healthcheck: [],
    doctor: [],
    'models list': [],
    'models test': ['sim-chat'],
    'prices list': [],
    usage: [],
    statement: ['--month', '2026-11'],
    backup: ['copy.db'],
    'explain image': ['--model', 'alpha-image-2'],
    'explain chat': ['--model', 'sim-chat', '--input-tokens', '9', '--output-tokens', '1'],
    'explain request': ['--model', 'sim-chat'],
    'explain log': [id],
    'keys create': ['--name', 'x'],
    'keys list': [],
    'keys show': [other],
    'keys update': [other, '--name', 'y'],
    'keys disable': [other],
    'keys enable': [other],
    'keys rotate': [other],
    'keys revoke': [other],
    'users create': ['ada'],
    'users list': [],
    'users set': ['ada', '--role', 'admin'],
    logs: [],
    'logs show': [id],
    'ledger verify': [],
    'ledger anchor': [],
    'ledger replay': [],
    'ledger refund': [id],
    'objects list': [],
    completion: ['bash'],
    schema: [],
    version: [],
  }
  const fails = new Set(['fmt', 'lint', 'doctor'])
  const all = [...commandsOf(createProgram())].filter(([path]) => path !== 'serve')
  const undescribed = all.filter(([, command]) => command.description() === '').map(([path]) => path)
  t.same(undescribed, [], 'every command has a description')
  const words = all.map(([path, command]) => {
    const dummies = command.registeredArguments.filter(one => one.required).map(one => one.argChoices?.[0] ?? 'x')
    const has = (long: string): boolean => command.options.some(option => option.long === long)
    const place = has('--config') || path === 'logs show' ? ['-c', 'CONFIG'] : []
    return [...path.split(' '), ...(given[path] ?? dummies), ...place, '--format', 'json']
  })
  const wrong = [
    ['serv'],
    ['keys', 'creat'],
    ['keys', 'create'],
    ['logs', '--limit', 'x'],
    ['serve', '-c', 'none.yaml'],
  ]
  const env = {
    TOLLGATE_OPS: shop.opsUrl.replace('http://', ''),
    TOLLGATE_LISTEN: shop.url.replace('http://', ''),
    ALPHA_URL: shop.upstreams['alpha']?.url,
    BETA_URL: shop.upstreams['beta']?.url,
  }
  const ran = await runMany({ folder: shop.folder, env }, [...words, ...wrong.map(some => [...some, '--format=json'])])
  for (const [i, { code, stdout, stderr }] of ran.entries()) {
    const path = all[i]?.[0] ?? ''
    const errors = stderr.split('\n').filter(line => line !== '')
    const lines = stdout.split('\n').filter(line => line !== '')
    t.ok(isRecord(stdout) || lines.every(isRecord), caseName({ path, stdout }))
    t.ok(
      errors.every(line => isRecord(line)),
      caseName({ path, stderr }),
    )
    if (i >= all.length) t.ok(code === 2 || code === 3, caseName({ i, code, stderr }))
    else if (Object.hasOwn(given, path) && !fails.has(path)) t.equal(code, 0, caseName({ path, stderr }))
    t.ok(
      stdout !== '' || stderr !== '' || path === 'healthcheck' || path === 'check' || path === 'admin-tokens list',
      caseName({ path }),
    )
  }
  const saidBy = (path: string): string => ran[all.findIndex(([one]) => one === path)]?.stderr ?? ''
  t.match(JSON.parse(saidBy('models test')), {
    level: 30,
    msg: /^spent \S+ USD on 1 request$|^spent nothing on 1 request; 1 of 1 not charged$/,
  })
  t.match(JSON.parse(saidBy('backup')), { msg: /^Backed up the database/ })

  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url)),
      'serve',
      '--format',
      'json',
      '-c',
      join(shop.folder, 'cli.yaml'),
    ],
    {
      env: {
        ...process.env,
        TOLLGATE_STORAGE: 'sqlite::memory:',
        TOLLGATE_LISTEN: '127.0.0.1:0',
        TOLLGATE_OPS: '127.0.0.1:0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  t.teardown(() => child.kill('SIGKILL'))
  const [first] = (await once(child.stderr, 'data')) as [Buffer]
  child.kill('SIGTERM')
  const served = String(first) + (await text(child.stderr))
  t.match(served, /"msg":"tollgate +http/)
  for (const line of served.trim().split('\n')) t.ok(isRecord(line), caseName({ line }))
})

t.test('a reload command reports a reload that the file watcher did a moment before', async t => {
  const shop = await openShop(t)
  const env = { TOLLGATE_OPS: shop.opsUrl.replace('http://', '') }
  const again = () =>
    runMany({ folder: shop.folder, env }, [
      ['reload', '-c', 'CONFIG'],
      ['reload', '-c', 'CONFIG', '--format', 'json'],
    ])
  t.match(await again(), [{ stdout: '', stderr: /^revision \w+: no changes\n$/ }, {}])
  await shop.reload([{ 'groups/default/rpm': 1000001 }])
  const [shown, after] = await again()
  t.match(shown, {
    code: 0,
    stdout: /1000001/,
    stderr: /^revision \w+: 1 change, applied \d+ s ago, when the file changed\n$/,
  })
  t.match(JSON.parse(after?.stdout ?? ''), { ok: true, changes: [], before: { ok: true, changes: [] } })
})
