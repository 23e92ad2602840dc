import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createKey, openStorage } from '../../src/index.ts'
import type { Edits } from './start.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/** A gateway in a process of its own, on a folder that stays when the process dies. */
export type ChildGateway = {
  /** Resolves with its address when it answers. @throws Error when it ends before that */
  readonly ready: Promise<string>
  /** Where operators look: `/metrics` and the rest. Resolves as `ready` does. */
  readonly ops: Promise<string>
  readonly pid: number
  /** Resolves when the process is gone, however it went. */
  readonly gone: Promise<number | NodeJS.Signals | null>
  /** SIGKILL, to this process alone. */
  kill(): Promise<void>
  /** SIGTERM: it finishes what it has. */
  stop(): Promise<void>
}

/** Where a child gateway lives: its configuration, its database, and how to start one there. */
export type Site = {
  readonly folder: string
  readonly database: string
  readonly key: string
  start(): ChildGateway
}

/** Lays out a folder for child gateways: a configuration, and a database with one key. */
export async function prepareSite(
  folder: string,
  options: {
    readonly upstreams: { readonly [name: string]: string }
    readonly edit?: Edits
    readonly compiled?: string
  },
): Promise<Site> {
  let text = await readFile(shipped, 'utf8')
  for (const [find, put] of options.edit ?? []) {
    const changed = text.replace(find, put)
    if (changed === text) throw new Error(`the configuration has no ${String(find)}`)
    text = changed
  }
  const config = join(folder, 'gateway.yaml')
  const database = join(folder, 'tollgate.db')
  await writeFile(config, text)
  const storage = await openStorage({ url: `sqlite:${database}`, role: 'tool' })
  const { secret } = await createKey(storage, { name: 'crash', user: 'local' })
  await storage.close()
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:0',
    TOLLGATE_STORAGE: `sqlite:${database}`,
    NODE_COMPILE_CACHE: options.compiled ?? join(folder, 'compiled'),
  }
  for (const [name, url] of Object.entries(options.upstreams)) env[`${name.toUpperCase()}_URL`] = url
  return {
    folder,
    database,
    key: secret,
    start: () =>
      watch(spawn(process.execPath, [bin, 'serve', '-c', config], { env, stdio: ['ignore', 'ignore', 'pipe'] })),
  }
}

function watch(child: ChildProcess): ChildGateway {
  const ready = Promise.withResolvers<string>()
  const gone = Promise.withResolvers<number | NodeJS.Signals | null>()
  const ops = Promise.withResolvers<string>()
  const said: string[] = []
  ready.promise.catch(() => undefined)
  ops.promise.catch(() => undefined)
  // Whoever ends this process ends the gateway that it started.
  const end = (): void => void child.kill('SIGKILL')
  process.on('exit', end)
  child.on('exit', () => process.off('exit', end))
  child.on('exit', (code, signal) => {
    gone.resolve(code ?? signal)
    const early = new Error(`the gateway ended (${code ?? signal}) before it was ready: ${said.join('\n')}`)
    ready.reject(early)
    ops.reject(early)
  })
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', line => {
      said.push(line)
      const url = /^tollgate +(http:\S+)\/v1 /.exec(line)?.[1]
      if (url !== undefined) ready.resolve(url)
      const opsUrl = /^operators +(http:\/\/[^/]+)\/metrics/.exec(line)?.[1]
      if (opsUrl !== undefined) ops.resolve(opsUrl)
    })
  return {
    ready: ready.promise,
    ops: ops.promise,
    pid: child.pid ?? 0,
    gone: gone.promise,
    async kill() {
      child.kill('SIGKILL')
      await gone.promise
    },
    async stop() {
      child.kill('SIGTERM')
      await gone.promise
    },
  }
}
