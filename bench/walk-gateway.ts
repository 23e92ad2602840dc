import { fork, type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { answering, freePort } from './targets.ts'
import type { Called } from './walk-probe.ts'

const root = new URL('..', import.meta.url).pathname

/** A request, and how often it is sent while one quantity is counted: tracing an answer of megabytes is slow. */
export type Asked = {
  readonly path: string
  readonly body: string | Buffer
  readonly times: number
  /**
   * How often allocations are counted. Other work on the machine only adds to them, because batches are smaller: the
   * minimum is reported.
   */
  readonly heapRounds?: number
  /** Keys instead of the one that is created for it, and of `body`: each request takes the next. */
  readonly secrets?: readonly string[]
  readonly bodies?: readonly string[]
}

/** Replaces the configuration of the other rows, and an empty storage. */
export type Store = { readonly config?: string; readonly storage?: string }

/** The cost of one request. */
export type Counted = {
  /** The files that it enters, each with its functions and their calls. */
  readonly files: ReadonlyMap<string, readonly Called[]>
  readonly figures: { readonly [name: string]: number }
}

type Heap = { readonly objects: number; readonly bytes: number }

type Waits = { readonly promises: number; readonly ticks: number; readonly timers: number; readonly writes: number }

/**
 * Counts one kind of request at a gateway of its own, each quantity separately, since counting one changes the others.
 */
export async function walkGateway(
  at: string,
  folder: string,
  upstream: string,
  { times, heapRounds = 1, ...asked }: Asked,
  { config = join(at, 'bench/gateway.yaml'), storage }: Store = {},
): Promise<Counted> {
  const port = await freePort()
  const env = {
    ...process.env,
    TOLLGATE_LISTEN: `127.0.0.1:${port}`,
    TOLLGATE_OPS: `127.0.0.1:${await freePort()}`,
    TOLLGATE_STORAGE: storage ?? `sqlite:${join(folder, `${port}.db`)}`,
    BENCH_UPSTREAM: upstream,
  }
  const bin = join(at, 'src/cli/bin.ts')
  const execArgv = ['--import', join(root, 'bench/walk-probe.ts')]
  const gateway = fork(bin, ['serve', '-c', config], {
    env,
    cwd: at,
    execArgv,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  try {
    await answering(port)
    const words = [bin, 'keys', 'create', '-c', config, '--name', 'walk', '--format', 'json']
    const { stdout } = await promisify(execFile)(process.execPath, words, { env })
    const { key } = JSON.parse(stdout) as { key: string }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { path, secrets = [key], bodies = [asked.body] } = asked
    let sent = 0
    const ask = async (): Promise<void> => {
      for (let i = 0; i < times; i++, sent++)
        await send({ port, agent, path, key: turnOf(secrets, sent), body: turnOf(bodies, sent) })
    }
    await ask()
    const calls = (await count(gateway, 'calls', ask)) as { [url: string]: Called[] }
    const waits = (await count(gateway, 'waits', ask)) as Waits
    const heaps: Heap[] = []
    for (let i = 0; i < heapRounds; i++) heaps.push((await count(gateway, 'heap', ask)) as Heap)
    const { objects, bytes } = heaps.reduce((least, one) => (one.bytes < least.bytes ? one : least))
    agent.destroy()
    // Functions that run less than once in two requests belong to the batches after them.
    const often = (called: readonly Called[]): number => called.reduce((sum, [, one]) => sum + one, 0)
    const entered = Object.entries(calls).filter(([, called]) => often(called) >= times / 2)
    const files = new Map<string, Called[]>()
    for (const [url, called] of entered.toSorted(([a], [b]) => (a < b ? -1 : 1)))
      files.set(
        url.slice(url.indexOf(at) + at.length),
        called.flatMap(([name, one]) => (one < times / 2 ? [] : [[name, one / times] as const])),
      )
    const figures = {
      files: entered.length,
      functions: [...files.values()].reduce((sum, { length }) => sum + length, 0),
      calls: entered.reduce((sum, [, called]) => sum + often(called), 0) / times,
      promises: waits.promises / times,
      ticks: waits.ticks / times,
      timers: waits.timers / times,
      writes: waits.writes / times,
      objects: objects / times,
      bytes: bytes / times,
    }
    return { files, figures }
  } finally {
    gateway.kill()
    await once(gateway, 'exit')
  }
}

function turnOf<T>(all: readonly T[], turn: number): T {
  return all[turn % all.length] as T
}

async function count(gateway: ChildProcess, what: string, act: () => Promise<void>): Promise<unknown> {
  gateway.send({ begin: what })
  await once(gateway, 'message')
  await act()
  gateway.send({ end: what })
  const [counted] = (await once(gateway, 'message')) as [unknown]
  return counted
}

function send(what: { port: number; agent: Agent; key: string; path: string; body: string | Buffer }): Promise<void> {
  const { port, agent, key, path, body } = what
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const req = request({ host: '127.0.0.1', port, agent, path, method: 'POST', headers }, res => {
      if (res.statusCode !== 200) reject(new Error(`${path}: status ${res.statusCode}`))
      res.resume().on('end', resolve)
    })
    req.on('error', reject).end(body)
  })
}
