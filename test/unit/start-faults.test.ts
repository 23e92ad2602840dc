import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

// Each fault that prevents a start is reported in one sentence with its remedy. Real processes, in folders of their
// own, run as an unprivileged user.

const root = resolve(import.meta.dirname, '../..')
const nobody = 65_534
const isRoot = process.getuid?.() === 0

type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

type Place = { readonly folder: string; readonly run: (asked?: Asked) => Promise<Ran> }

type Asked = {
  readonly env?: NodeJS.ProcessEnv
  readonly args?: readonly string[]
  /** The clone to start; this one by default. */
  readonly clone?: string
  /** Command that starts node. */
  readonly by?: readonly string[]
  readonly asRoot?: boolean
}

/** A folder with the shipped configuration, owned by the user of the process. */
async function makePlace(t: Test): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-start-'))
  t.teardown(async () => {
    await chmod(folder, 0o700)
    await rm(folder, { recursive: true, force: true })
  })
  await copyFile(join(root, 'gateway.yaml'), join(folder, 'gateway.yaml'))
  if (isRoot) await chown(folder, nobody, nobody)
  return {
    folder,
    async run({ env = {}, args = ['serve'], clone = root, by = [], asRoot = false } = {}) {
      const [program = '', ...words] = [...by, process.execPath, join(clone, 'src/cli/tollgate.cjs'), ...args]
      const child = spawn(program, words, {
        cwd: folder,
        // As in a plain shell: without the hooks that tap adds to every child.
        env: { PATH: process.env['PATH'], TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: 'off', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(isRoot && !asRoot && { uid: nobody, gid: nobody }),
      })
      t.teardown(() => child.kill('SIGKILL'))
      const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code: code as number | null, stdout, stderr }
    },
  }
}

/** The common remedy of faults of the storage path. */
const another = /or use another location: storage in the configuration \(the shipped one reads TOLLGATE_STORAGE\)\n$/

t.test('an unreadable configuration: exit 3, and the remedy', async t => {
  const { folder, run } = await makePlace(t)
  t.match(await run({ args: ['serve', '-c', 'none.yaml'] }), {
    code: 3,
    stderr:
      /none\.yaml:1:1 +the file cannot be read: ENOENT, it does not exist\n +use -c FILE, or create one here with tollgate init\n/,
  })
  t.match(await run({ args: ['serve', '-c', '.'] }), {
    code: 3,
    stderr: /the file cannot be read: EISDIR, it is a folder\n +use -c with the file in it/,
  })
  t.match(await run({ by: ['bash', '-c', 'exec "$0" "$1" serve -c <(cat gateway.yaml)'] }), {
    code: 3,
    stderr: /the file cannot be read: ENOTFILE, it is a pipe or a device, .*\n +save it to a file, and use -c FILE/,
  })
  if (isRoot) await chown(join(folder, 'gateway.yaml'), 0, 0)
  await chmod(join(folder, 'gateway.yaml'), isRoot ? 0o600 : 0)
  t.match(await run(), {
    code: 3,
    stderr: /EACCES, this user may not read it\n +let the user .* read it/,
  })
})

t.test('doctor names the file that prevents a start, and its remedy', async t => {
  const { folder, run } = await makePlace(t)
  const names = ['kept', 'locked', 'closed/in', 'damaged'] as const
  await mkdir(join(folder, 'closed'))
  for (const name of names) await (await openStorage({ url: `sqlite:${join(folder, name)}.db`, role: 'tool' })).close()
  if (isRoot) for (const name of names) await chown(join(folder, `${name}.db`), nobody, nobody)
  await chmod(join(folder, 'kept.db'), 0o444)
  await writeFile(join(folder, 'locked.db.lock'), '')
  await chmod(join(folder, 'locked.db.lock'), 0o444)
  if (isRoot) await chown(join(folder, 'closed'), nobody, nobody)
  await writeFile(join(folder, 'damaged.db'), 'not a database '.repeat(400))
  await chmod(join(folder, 'closed'), 0o200)
  t.teardown(() => chmod(join(folder, 'closed'), 0o700))
  const right = 'this user may not write there +→ +give it the right to, or use another location'
  for (const [storage, expected] of [
    ['kept.db', `kept\\.db: ${right}`],
    ['locked.db', `locked\\.db\\.lock: ${right}`],
    ['closed/in.db', `closed: ${right}`],
    ['damaged.db/in.db', 'damaged\\.db: a part of its path is a file +→ +name a file in a folder, or use'],
    ['damaged.db', 'damaged\\.db: it is a file of something else +→ +leave that one where it is, or use'],
  ] as const) {
    const { code, stdout } = await run({ env: { TOLLGATE_STORAGE: `sqlite:${storage}` }, args: ['doctor'] })
    t.equal(code, 1, caseName({ storage }))
    t.match(stdout, new RegExp(`^fail +storage +\\S+${expected}`, 'm'), caseName({ storage }))
  }
})

t.test('a path that cannot hold a database: exit 1, one line', async t => {
  const { folder, run } = await makePlace(t)
  await writeFile(join(folder, 'file'), 'not a database '.repeat(400))
  await mkdir(join(folder, 'folder'))
  for (const [storage, expected] of [
    ['sqlite:folder', /folder: it is a folder; name a file in it, /],
    ['sqlite:file/tollgate.db', /file\/tollgate\.db: a part of its path is a file; /],
    ['sqlite:file', /file: it is a file of something else; leave that one where it is, /],
  ] as const) {
    const { code, stderr } = await run({ env: { TOLLGATE_STORAGE: storage } })
    const name = caseName({ storage })
    t.equal(code, 1, name)
    t.match(stderr, expected, name)
    t.match(stderr, another, name)
    t.equal(stderr.trim().split('\n').length, 1, name)
  }
})

t.test('a read-only folder, database or lock: exit 1, one line', async t => {
  const { folder, run } = await makePlace(t)
  const database = join(folder, 'kept.db')
  const storage = await openStorage({ url: `sqlite:${database}`, role: 'tool' })
  await storage.close()
  await chmod(database, 0o444)
  const readOnly = await run({ env: { TOLLGATE_STORAGE: `sqlite:${database}` } })
  t.match(readOnly, { code: 1, stderr: /kept\.db: this user may not write there; give it the right to, / })
  t.match(readOnly.stderr, another)

  const locked = join(folder, 'locked.db')
  await writeFile(`${locked}.lock`, '')
  await chmod(`${locked}.lock`, 0o444)
  const shared = await run({ env: { TOLLGATE_STORAGE: `sqlite:${locked}` } })
  t.match(shared, { code: 1, stderr: /locked\.db\.lock: this user may not write there; give it the right to, / })
  t.match(shared.stderr, another)

  if (isRoot) await chown(folder, 0, 0)
  chmodSync(folder, isRoot ? 0o755 : 0o555)
  const { code, stderr } = await run()
  t.equal(code, 1)
  t.match(stderr, `the storage cannot be written: ${join(folder, 'data/tollgate.db')}: this user may not write there; `)
  t.match(stderr, another)
  t.equal(stderr.trim().split('\n').length, 1)
})

t.test('a full disk: exit 1, one line', async t => {
  const { folder, run } = await makePlace(t)
  await mkdir(join(folder, 'small'))
  // A disk of 64 KiB that only this process sees.
  const mount = `mount -t tmpfs -o size=64k none ${join(folder, 'small')} && exec "$@"`
  const by = ['unshare', '-m', 'sh', '-c', mount, 'sh']
  const tried = spawn('unshare', ['-m', 'sh', '-c', `mount -t tmpfs none ${join(folder, 'small')}`])
  const mayMount = await Promise.race([once(tried, 'close'), once(tried, 'error')]).then(([code]) => code === 0)
  if (!mayMount) {
    t.pass('a disk is made', { skip: 'this user may not mount one' })
    return
  }
  const env = { TOLLGATE_STORAGE: `sqlite:${join(folder, 'small/tollgate.db')}` }
  const { code, stderr } = await run({ by, env, asRoot: true })
  t.equal(code, 1)
  t.match(stderr, /small\/tollgate\.db: the disk is full; make room on it, /)
  t.match(stderr, another)

  const kept = `sqlite:${join(folder, 'kept.db')}`
  await (await openStorage({ url: kept, role: 'tool' })).close()
  const args = ['backup', join(folder, 'small/copy.db')]
  const backup = await run({ by, env: { TOLLGATE_STORAGE: kept }, asRoot: true, args })
  t.match(backup, { code: 1, stderr: /: the copy \S+small\/copy\.db: the disk is full; make room on it, or choose / })

  const copied = await run({
    by,
    env,
    asRoot: true,
    args: ['storage', 'copy', '--from', kept, '--to', `${env.TOLLGATE_STORAGE}.2`],
  })
  t.match(copied, { code: 1, stderr: /small\/tollgate\.db\.2: the disk is full; make room on it, or choose another / })

  const restored = await run({ by, env, asRoot: true, args: ['restore', join(folder, 'kept.db')] })
  t.match(restored, { code: 1, stderr: /small\/tollgate\.db: the disk is full; make room on it, or use another / })
  t.match(restored.stderr, /; the restored database needs 1 MB next to the replaced one\n$/)
})

t.test('an unavailable address: exit 1, the setting and its variable in one line', async t => {
  const { run } = await makePlace(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => void taken.close())
  const busy = `127.0.0.1:${(taken.address() as AddressInfo).port}`
  const mayNotBind = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) > 80
  for (const [env, expected] of [
    [
      { TOLLGATE_LISTEN: busy },
      `${busy} is in use by another program: stop that program, or choose another address for server.listen in the configuration (the shipped one reads TOLLGATE_LISTEN).\n`,
    ],
    [
      { TOLLGATE_OPS: busy },
      `${busy} is in use by another program: stop that program, or choose another address for server.ops in the configuration (the shipped one reads TOLLGATE_OPS).\n`,
    ],
    [
      { TOLLGATE_LISTEN: '192.0.2.1:8080' },
      '192.0.2.1:8080 is not an address of this machine: use 127.0.0.1 for this machine only, or 0.0.0.0 for all of its addresses, in server.listen in',
    ],
    ...(mayNotBind
      ? [
          [
            { TOLLGATE_LISTEN: '127.0.0.1:80' },
            '127.0.0.1:80 cannot be opened by this user; ports below 1024 are reserved for the system: choose a higher port',
          ] as const,
        ]
      : []),
  ] as const) {
    const { code, stderr } = await run({ env: { ...env, TOLLGATE_STORAGE: 'sqlite::memory:' } })
    t.equal(code, 1, caseName(env))
    const words = stderr.split('\n').filter(line => line !== '' && !line.startsWith('{'))
    t.equal(words.length, 1, `${caseName(env)}: ${stderr}`)
    t.match(stderr, expected, caseName(env))
  }
})

t.test('a clone without packages, or without a console, names the command that adds them', async t => {
  const { folder, run } = await makePlace(t)
  const clone = join(folder, 'clone')
  const console = join(root, 'src/console')
  for (const name of ['src', 'plugins'])
    await cp(join(root, name), join(clone, name), { recursive: true, filter: from => from !== console })
  await copyFile(join(root, 'package.json'), join(clone, 'package.json'))
  const { code, stderr } = await run({ clone })
  t.equal(code, 1)
  t.equal(
    stderr,
    `tollgate's packages are not installed ('commander' is missing): run \`npm ci\` in ${clone}, or \`npm ci --omit=dev\` for production.\n`,
  )

  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'))
  t.notOk(existsSync(join(clone, 'dist')))
  const child = spawn(process.execPath, [join(clone, 'src/cli/tollgate.cjs'), 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      TOLLGATE_LISTEN: '127.0.0.1:0',
      TOLLGATE_OPS: 'off',
      TOLLGATE_STORAGE: 'sqlite::memory:',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let output = ''
  // Reads until the end: closing the pipe would end the gateway.
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    output += String(chunk)
    // Signals only once: a second signal would end the process immediately.
    if (!child.killed && /^console /m.test(output) && /first API key/.test(output)) child.kill('SIGTERM')
  }
  t.match(output, /^console +not built, .*; run `npm ci` without --omit=dev to build them\. Everything else works$/m)
  t.notMatch(output, /setup/, 'and no link is made that leads nowhere')
  t.strictSame(await ended, [0, null])
})
