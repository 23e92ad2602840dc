import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { createPool } from '../../src/storage/postgres/connect.ts'
import { migrateFrom } from '../../src/storage/postgres/migrate.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { migrate } from '../../src/storage/sqlite/migrate.ts'
import { watchGateway } from '../harness/child.ts'
import { type Ran, runCommand } from '../harness/commands.ts'
import type { OldVersion } from '../harness/old-version.ts'
import type { Postgres } from '../harness/postgres.ts'

const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))
const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
/** Callers that wait for their answers. */
const callers = 2
/** Number of charges before and after a schema change under a gateway. */
const together = 6

/** Commands that wait until the older gateway has stopped; they are tested separately. */
const waiting = new Set(['serve', 'storage migrate'])

/** Arguments of commands next to the configuration. FOLDER is one of the test's own, KEY an existing key. */
const given: { readonly [command: string]: readonly string[] } = {
  completion: ['bash'],
  diff: ['--against', 'CONFIG'],
  backup: ['FOLDER/backup.db'],
  restore: ['FOLDER/backup.db'],
  init: ['FOLDER/init', '--yes'],
  import: ['new-api', 'FOLDER/none.db', '--out', 'FOLDER/import.yaml'],
  statement: ['--month', '2026-11'],
  'config cost': ['CONFIG'],
  'config diff': ['1'],
  'explain image': ['--model', 'alpha-image-2'],
  'explain chat': ['--model', 'sim-chat'],
  'explain request': ['--model', 'sim-chat'],
  'explain log': ['none'],
  'logs show': ['none'],
  'events redeliver': ['--webhook', 'none', '--id', 'none'],
  'admin-tokens create': ['--name', 'matrix', '--role', 'viewer'],
  'admin-tokens revoke': ['none'],
  'keys create': ['--name', 'matrix'],
  'keys show': ['KEY'],
  'keys update': ['KEY', '--budget', '1000'],
  'keys disable': ['none'],
  'keys enable': ['KEY'],
  'keys rotate': ['none'],
  'keys revoke': ['none'],
  'ledger resolve': ['none'],
  'ledger refund': ['none'],
  'prices import': ['FOLDER/none.json', '--from', 'litellm'],
  'prices diff': ['FOLDER/none.yaml'],
  'storage copy': ['--to', 'sqlite:FOLDER/copy.db'],
  'upstreams suspend': ['alpha', 'none', '--reason', 'matrix'],
  'upstreams resume': ['alpha', 'none'],
  'users create': ['matrix'],
  'users set': ['matrix', '--group', 'partner'],
  'users budget': ['matrix', '--amount', '5'],
  'users role': ['matrix', 'viewer'],
  'users uninvite': ['none'],
  'users topup': ['matrix', '5'],
  'users balance': ['matrix'],
  'objects end': ['none', '--reason', 'matrix'],
  'cache purge': ['--reason', 'matrix'],
  'sessions end': ['none', '--reason', 'matrix'],
  'users erase': ['matrix', '--yes'],
  'users passwd': ['matrix'],
}

/** The site of an older gateway. */
export type Place = {
  readonly url: string
  schema(): Promise<number>
  /** Changes the schema even while gateways run, as earlier versions did. */
  migrate(): Promise<void>
}

export function sqlitePlace(path: string): Place {
  return {
    url: `sqlite:${path}`,
    async schema() {
      const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
      try {
        return Number(db.prepare('PRAGMA user_version').get()?.['user_version'])
      } finally {
        db.close()
      }
    },
    async migrate() {
      const connection = new Connection(path)
      migrate(connection)
      connection.close()
    },
  }
}

export async function postgresPlace(postgres: Postgres): Promise<Place & { lapse(): Promise<void> }> {
  const url = await postgres.createDatabase()
  async function query(...statements: readonly string[]): Promise<number> {
    const client = await postgres.connect(url)
    try {
      let last: unknown
      for (const sql of statements) last = (await client.query(sql)).rows[0]?.version
      return Number(last)
    } finally {
      await client.end()
    }
  }
  const schema = () => query('SELECT version FROM tollgate_schema')
  return {
    url,
    schema,
    lapse: async () => void (await query('UPDATE replica SET lease_until = 0')),
    async migrate() {
      const pool = createPool(url, 1)
      const client = await pool.connect()
      const found = await schema()
      for (let isDone = false; !isDone; ) {
        await client.query('BEGIN')
        try {
          await migrateFrom(client, found)
          await client.query(`UPDATE tollgate_schema SET version = ${migrations.length}`)
          await client.query('COMMIT')
          isDone = true
        } catch (error) {
          await client.query('ROLLBACK')
          // The running gateway caused a deadlock, and continued.
          if ((error as { code?: string }).code !== '40P01') throw error
        }
      }
      client.release()
      await pool.end()
    },
  }
}

/** Every command with its arguments. @throws Error when a command needs arguments and has none here */
export function everyCommand(): readonly (readonly [name: string, words: readonly string[]])[] {
  const found: [string, readonly string[]][] = []
  const walk = (command: Command, path: readonly string[]): void => {
    for (const child of command.commands) walk(child, [...path, child.name()])
    if (command.commands.length > 0 && !['logs', 'config'].includes(path.join(' '))) return
    const name = path.join(' ')
    if (waiting.has(name)) return
    const words = given[name]
    if (words === undefined && command.registeredArguments.some(argument => argument.required))
      throw new Error(`tollgate ${name} has arguments: say in test/faults/migration.ts what it is given`)
    const own = [command, ...ancestors(command)].some(one => one.options.some(option => option.long === '--config'))
    found.push([name, [...path, ...(words ?? []), ...(own ? ['-c', 'CONFIG'] : [])]])
  }
  walk(createProgram(), [])
  return found
}

function ancestors(command: Command): readonly Command[] {
  return command.parent ? [command.parent, ...ancestors(command.parent)] : []
}

export type Tried = {
  readonly requests: number
  readonly commands: number
  /** Commands that succeeded next to the older gateway. */
  readonly worked: readonly string[]
  /** Commands that refused the older schema. */
  readonly refused: readonly string[]
  readonly violations: readonly string[]
}

/** The violations, and the number of requests. */
type Course = { readonly violations: string[]; requests: number }

/**
 * Runs every command next to a writing gateway of an older version; then a migration and a newer gateway next to it,
 * which wait until it has stopped. The books balance before and after.
 */
export async function tryBesideOlder(
  old: OldVersion,
  place: Place,
  folder: string,
  commands = everyCommand(),
): Promise<Tried> {
  const { config, env } = await furnish(place, folder)
  const { id, key } = await old.createKey(place.url, 'ann')
  const course: Course = { violations: [], requests: 0 }
  const before = await place.schema()
  const isOlder = before < migrations.length
  const gateway = old.serve(place.url)
  const worked: string[] = []
  const refused: string[] = []
  try {
    const traffic = drive(await gateway.ready, key, course)
    for (const [name, words] of commands) {
      const put = words.map(word => word.replace('CONFIG', config).replace('FOLDER', folder).replace(/^KEY$/, id))
      const ran = await runCommand({ env, cwd: folder }, put)
      if (ran.code === 0) worked.push(name)
      else if (/schema of an older version/.test(ran.stderr)) refused.push(name)
      if (isOlder && ran.stderr.trim() === '' && ran.code !== 0) course.violations.push(`${name}: ${describe(ran)}`)
      if ((await place.schema()) !== before) {
        course.violations.push(`${name}: migrated the database under a running gateway`)
        break
      }
    }
    await traffic.stop()
    if (course.violations.length === 0) await tryMigration(gateway, { old, place, config, env, key, course, isOlder })
    return { requests: course.requests, commands: commands.length, worked, refused, violations: course.violations }
  } finally {
    await gateway.kill()
  }
}

/** A configuration for this version's commands, on the storage of the older one. */
async function furnish(place: Place, folder: string): Promise<{ config: string; env: NodeJS.ProcessEnv }> {
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'new.yaml')
  await writeFile(config, (await readFile(shipped, 'utf8')).replaceAll(/\brpm: \d+/g, 'rpm: 1000000'))
  const env = {
    ...process.env,
    TOLLGATE_STORAGE: place.url,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:1',
  }
  return { config, env }
}

type Site = {
  readonly old: OldVersion
  readonly place: Place
  readonly config: string
  readonly env: NodeJS.ProcessEnv
  readonly key: string
  readonly course: Course
  readonly isOlder: boolean
}

async function tryMigration(gateway: ReturnType<OldVersion['serve']>, site: Site): Promise<void> {
  const { old, place, config, env, key, course, isOlder } = site
  const before = await place.schema()
  const isFile = place.url.startsWith('sqlite:')
  const traffic = drive(await gateway.ready, key, course)
  const migration = startMigration(site)
  // On PostgreSQL another gateway may run next to it; on a file none may.
  const next =
    isOlder && !isFile
      ? watchGateway(process.execPath, [bin, 'serve', '-c', config], { env: servingEnv(env) })
      : undefined
  try {
    // Without anything to do it ends immediately.
    if (isOlder) await migration.hears(/Waiting for these processes to stop: (gateway|connection) ?\(?\S+:\d+/)
    else if ((await migration.gone) !== 0) course.violations.push(`storage migrate: ${migration.said()}`)
    await next?.hears(/waits for processes of the older version to stop: gateway \S+:\d+/)
    if (isFile) {
      const second = await runCommand({ env }, ['serve', '-c', config])
      if (second.code !== 1 || !/already works on .*:\d+\)/.test(second.stderr))
        course.violations.push(`serve on a file in use: ${describe(second)}`)
    }
    if ((await place.schema()) !== before) course.violations.push('the schema changed under a running gateway')
    await traffic.stop()
    await gateway.stop()
    if ((await migration.gone) !== 0) course.violations.push(`storage migrate: ${migration.said()}`)
    if ((await place.schema()) !== migrations.length) course.violations.push('the schema was not migrated')
    const serving = next ?? watchGateway(process.execPath, [bin, 'serve', '-c', config], { env: servingEnv(env) })
    const url = await serving.ready
    const more = drive(url, key, course)
    await more.after(20)
    await more.stop()
    await serving.stop()
  } finally {
    next?.signal('SIGKILL')
    migration.kill()
  }
  const verified = await runCommand({ env }, ['ledger', 'verify', '-c', config])
  if (verified.code !== 0) course.violations.push(`ledger verify after ${old.commit}: ${describe(verified)}`)
}

/**
 * Migrates a database under a gateway of an older version, as versions without a rule against it did. Its books do not
 * balance then; `ledger verify --rebuild-sums` corrects them, and afterwards they do. @returns the violations
 */
export async function tryRepair(old: OldVersion, place: Place, folder: string): Promise<readonly string[]> {
  const { config, env } = await furnish(place, folder)
  const { key } = await old.createKey(place.url, 'ben')
  const course: Course = { violations: [], requests: 0 }
  const gateway = old.serve(place.url)
  try {
    for (const isMigrated of [false, true]) {
      if (isMigrated) await place.migrate()
      // Such a gateway may already refuse some requests.
      const traffic = drive(await gateway.ready, key, isMigrated ? { violations: [], requests: 0 } : course)
      await traffic.after(together)
      await traffic.stop()
    }
    await gateway.stop()
    // A starting gateway ends the open charges of the older version.
    const next = watchGateway(process.execPath, [bin, 'serve', '-c', config], { env: servingEnv(env) })
    await next.ready
    const found = await runCommand({ env }, ['ledger', 'verify', '-c', config])
    if (found.code !== 1 || !/group partner: has spent \d+, its charges say \d+/.test(found.stdout))
      course.violations.push(`no trace of the fault: ${describe(found)}`)
    const repaired = await runCommand({ env }, ['ledger', 'verify', '--rebuild-sums', '-c', config])
    if (repaired.code !== 0) course.violations.push(`not repaired: ${describe(repaired)}`)
    await next.stop()
    const again = await runCommand({ env }, ['ledger', 'verify', '-c', config])
    if (again.code !== 0) course.violations.push(`not repaired after a stop: ${describe(again)}`)
  } finally {
    await gateway.kill()
  }
  return course.violations
}

/** On PostgreSQL, a migration waits even for a gateway of an older version that is frozen for longer than its lease. */
export async function tryFrozen(
  old: OldVersion,
  place: Place & { lapse(): Promise<void> },
  folder: string,
): Promise<readonly string[]> {
  const { config, env } = await furnish(place, folder)
  const { key } = await old.createKey(place.url, 'cleo')
  const course: Course = { violations: [], requests: 0 }
  const before = await place.schema()
  const gateway = old.serve(place.url)
  const url = await gateway.ready
  gateway.signal('SIGSTOP')
  await place.lapse()
  const migration = startMigration({ config, env })
  try {
    await migration.hears(/Waiting for these processes to stop: connection \d+/)
    gateway.signal('SIGCONT')
    const traffic = drive(url, key, course)
    await traffic.after(together)
    await traffic.stop()
    if ((await place.schema()) !== before) course.violations.push('the schema changed under a frozen gateway')
    await gateway.stop()
    if ((await migration.gone) !== 0) course.violations.push(`storage migrate: ${migration.said()}`)
    const verified = await runCommand({ env }, ['ledger', 'verify', '-c', config])
    if (verified.code !== 0) course.violations.push(`ledger verify: ${describe(verified)}`)
  } finally {
    migration.kill()
    await gateway.kill()
  }
  return course.violations
}

function servingEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, TOLLGATE_OPS: '127.0.0.1:0' }
}

function startMigration({ config, env }: Pick<Site, 'config' | 'env'>) {
  const child = spawn(process.execPath, [bin, 'storage', 'migrate', '-c', config], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  const waits = new Set<() => void>()
  const wake = (): void => {
    for (const wait of waits) wait()
  }
  child.stderr.on('data', chunk => {
    output += String(chunk)
    wake()
  })
  const gone = once(child, 'close').then(([code]) => {
    wake()
    return code as number | null
  })
  return {
    gone,
    said: () => output,
    kill: () => void child.kill('SIGKILL'),
    async hears(wanted: RegExp): Promise<void> {
      while (!wanted.test(output)) {
        if (child.exitCode !== null) throw new Error(`storage migrate ended (${child.exitCode}): ${output}`)
        const { promise, resolve } = Promise.withResolvers<void>()
        waits.add(resolve)
        await promise
        waits.delete(resolve)
      }
    },
  }
}

/** Sends one request. @returns the fault of its answer, or why there is none */
async function ask(url: string, key: string, path: string, body: object): Promise<string | undefined> {
  try {
    const answer = await fetch(`${url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    return answer.status === 200 ? undefined : `${path} answered ${answer.status}: ${text.slice(0, 200)}`
  } catch (error) {
    return `${path} was not answered: ${String((error as Error).cause ?? error)}`
  }
}

/** Callers that send writing requests until stopped: a chat, a picture, and again. Each answer is a 200. */
function drive(url: string, key: string, course: Course) {
  const own = { isOver: false, made: 0 }
  const waits: { readonly count: number; resolve(this: void): void }[] = []
  const bodies = [
    ['chat/completions', { model: 'sim-chat', messages: [{ role: 'user', content: 'Hello' }] }],
    ['images/generations', { model: 'alpha-image-2', prompt: 'a boat', n: 1 }],
  ] as const
  const loops = Array.from({ length: callers }, async (_, caller) => {
    for (let turn = caller; !own.isOver; turn++) {
      const [path, body] = bodies[turn % bodies.length] ?? bodies[0]
      const wrong = await ask(url, key, path, body)
      if (wrong !== undefined) course.violations.push(wrong)
      own.made++
      for (const { count, resolve } of waits) if (own.made >= count) resolve()
      course.requests++
    }
  })
  return {
    async stop(): Promise<void> {
      own.isOver = true
      await Promise.all(loops)
    },
    async after(count: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      waits.push({ count, resolve })
      if (own.made < count) await promise
    },
  }
}

function describe({ code, stdout, stderr }: Ran): string {
  return `exit ${code}: ${stderr.trim().slice(0, 300)} ${stdout.trim().slice(0, 300)}`
}
