import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const startMs = 10_000

/** A redis-server of the system's own, on a free port, that goes with the test. */
export type RedisServer = {
  readonly url: string
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again on the same port, empty; resolves when it answers. */
  start(): Promise<void>
  /** SIGSTOP: connections stay and nothing answers. */
  freeze(): void
  thaw(): void
  /** One command as words; resolves with the first line of the answer. */
  command(...words: readonly string[]): Promise<string>
  /** One command as words; resolves with an answer of at most a few KiB. */
  text(...words: readonly string[]): Promise<string>
}

/** The title of a test that has to be skipped where no redis-server is installed; `after` fails on it under CI=true. */
export function redisMissing(): string | false {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'redis-server is not installed'
  }
}

export async function startRedis(t: Pick<Test, 'teardown'>, ...options: readonly string[]): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    const dying = child
    child = undefined
    if (!dying || dying.exitCode !== null || dying.signalCode !== null) return
    const gone = once(dying, 'exit')
    dying.kill('SIGKILL')
    await gone
  }
  const start = async (): Promise<void> => {
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
    const quiet = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning', '--daemonize', 'no']
    child = spawn('redis-server', [...own, ...quiet, ...options], { stdio: 'ignore' })
    const end = performance.now() + startMs
    // One that wants a password answers too.
    while (!/^(\+PONG|-NOAUTH)/.test(await ask(port, ['PING']).catch(() => ''))) {
      if (performance.now() > end) throw new Error('redis-server did not start')
      await sleep(10)
    }
  }
  // A test that is ended from outside has no teardown.
  const killNow = () => void child?.kill('SIGKILL')
  process.once('exit', killNow)
  t.teardown(async () => {
    await kill()
    process.off('exit', killNow)
    await rm(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    command: async (...words) => (await ask(port, words)).split('\r\n', 1)[0] as string,
    text: (...words) => ask(port, words),
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function ask(port: number, words: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write(`*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return answer.toString()
  } finally {
    socket.destroy()
  }
}
