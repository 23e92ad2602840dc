import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createKey } from '../../src/index.ts'
import { openDatabase } from './database.ts'
import { type Edits, editYaml } from './edit-yaml.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/** A gateway in a process of its own, in a folder that remains when the process dies. */
export type ChildGateway = {
  /** Resolves with its address once it responds. @throws Error when it exits before that */
  readonly ready: Promise<string>
  /** The address for operators: `/metrics` and others. Resolves as `ready` does. */
  readonly ops: Promise<string>
  readonly pid: number
  /** Resolves when the process has exited, for any reason. */
  readonly gone: Promise<number | NodeJS.Signals | null>
  /** False once it has exited, for any reason. */
  isThere(): boolean
  /** Sends SIGKILL, to this process alone. */
  kill(): Promise<void>
  /** Sends SIGTERM: it finishes its requests. */
  stop(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Its complete output on standard error so far. */
  said(): string
  /** Resolves when its output matches, from a given position on. @throws Error when it exits before that */
  hears(wanted: RegExp, from?: number): Promise<RegExpExecArray>
}

/** The folder of a child gateway: its configuration, its database, and how to start one there. */
export type Site = {
  readonly folder: string
  readonly config: string
  readonly database: string
  readonly key: string
  /** Adds variables to the site's own, so that gateways can differ. */
  start(more?: NodeJS.ProcessEnv): ChildGateway
}

/** Creates a folder for child gateways: a configuration, and a database with one key. */
export async function prepareSite(
  folder: string,
  options: {
    readonly upstreams: { readonly [name: string]: string }
    readonly edit?: Edits
    /** The URL of the storage; a file in the folder when absent. */
    readonly storage?: string
    readonly env?: NodeJS.ProcessEnv
    /** The command that starts node, such as a shell that lowers a limit first. */
    readonly by?: readonly string[]
    /** Uses separate process groups: signals to this process's group, as from a terminal, do not reach them. */
    readonly isApart?: boolean
  },
): Promise<Site> {
  const text = editYaml(await readFile(shipped, 'utf8'), options.edit ?? [])
  const config = join(folder, 'gateway.yaml')
  const database = join(folder, 'tollgate.db')
  await writeFile(config, text)
  const url = options.storage ?? `sqlite:${database}`
  const storage = await openDatabase({ url, role: 'tool' })
  const { secret } = await createKey(storage, { name: 'crash', user: 'local' })
  await storage.close()
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:0',
    TOLLGATE_STORAGE: url,
    NODE_COMPILE_CACHE: compiledOf(folder),
    ...options.env,
  }
  for (const [name, url] of Object.entries(options.upstreams)) env[`${name.toUpperCase()}_URL`] = url
  const [program, ...words] = [...(options.by ?? []), process.execPath, bin, 'serve', '-c', config]
  return {
    folder,
    config,
    database,
    key: secret,
    start: more => watchGateway(program, words, { env: { ...env, ...more }, detached: options.isApart === true }),
  }
}

/** Starts a gateway by a command, and monitors it. */
export function watchGateway(program: string, words: readonly string[], options: SpawnOptions): ChildGateway {
  return watch(spawn(program, words, { ...options, stdio: ['ignore', 'ignore', 'pipe'] }))
}

/** The folder of the compile cache: next to the cache of the tests, if they have one. */
function compiledOf(folder: string): string {
  const ours = getCompileCacheDir()
  return ours === undefined ? join(folder, 'compiled') : dirname(ours)
}

/** Runs `tollgate …` to its end, on a site's storage. */
export async function runTollgate(
  { database }: Site,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [bin, ...words], {
    env: { ...process.env, TOLLGATE_STORAGE: `sqlite:${database}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, stdout, stderr }
}

function watch(child: ChildProcess): ChildGateway {
  const ready = Promise.withResolvers<string>()
  const gone = Promise.withResolvers<number | NodeJS.Signals | null>()
  const ops = Promise.withResolvers<string>()
  const lines: string[] = []
  const listeners = new Set<() => void>()
  ready.promise.catch(() => undefined)
  ops.promise.catch(() => undefined)
  // When this process ends, so does the gateway that it started.
  const end = (): void => void child.kill('SIGKILL')
  process.on('exit', end)
  child.on('exit', () => process.off('exit', end))
  child.on('exit', (code, signal) => {
    gone.resolve(code ?? signal)
    const early = new Error(`the gateway ended (${code ?? signal}) before it was ready: ${lines.join('\n')}`)
    ready.reject(early)
    ops.reject(early)
  })
  const saidText = (): string => lines.join('\n')
  async function hears(wanted: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const match = wanted.exec(saidText().slice(from))
      if (match) return match
      const ended = child.exitCode ?? child.signalCode
      if (ended !== null) throw new Error(`the gateway ended (${ended}) and had said: ${saidText()}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      listeners.add(resolve)
      await promise
      listeners.delete(resolve)
    }
  }
  const wake = (): void => {
    for (const listener of listeners) listener()
  }
  child.on('close', wake)
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      wake()
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
    isThere: () => child.exitCode === null && child.signalCode === null,
    async kill() {
      child.kill('SIGKILL')
      await gone.promise
    },
    async stop() {
      child.kill('SIGTERM')
      await gone.promise
    },
    signal: signal => void child.kill(signal),
    said: saidText,
    hears,
  }
}
