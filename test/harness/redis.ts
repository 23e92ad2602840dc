import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { EndedEarly, onFreePort } from './free-port.ts'

const startMs = 10_000

/** A redis-server of the system, on a port of its own, that stops with the test. */
export type RedisServer = {
  readonly url: string
  /** Sends SIGKILL; resolves when it has exited. */
  kill(): Promise<void>
  /** Starts it again on the same port, empty; resolves when it responds. */
  start(): Promise<void>
  /** SIGSTOP: connections stay open and get no answers. */
  freeze(): void
  thaw(): void
  /** Sends one command as words; resolves with the first line of the answer. */
  command(...words: readonly string[]): Promise<string>
  /** Sends one command as words; resolves with an answer of at most a few KiB. */
  text(...words: readonly string[]): Promise<string>
}

/** The title of a test that is skipped without an installed redis-server; `after` fails on it under CI=true. */
export function redisMissing(): string | false {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'redis-server is not installed'
  }
}

export async function startRedis(t: Pick<Test, 'teardown'>, ...options: readonly string[]): Promise<RedisServer> {
  return onFreePort(port => startRedisOn(port, t, options))
}

/** @throws EndedEarly when another process has the port */
export async function startRedisOn(
  port: number,
  t: Pick<Test, 'teardown'>,
  options: readonly string[] = [],
): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-redis-'))
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
    const quiet = ['--save', '', '--appendonly', 'no', '--loglevel', 'notice', '--daemonize', 'no']
    child = spawn('redis-server', [...own, ...quiet, ...options], { stdio: ['ignore', 'pipe', 'ignore'] })
    await listening(child)
  }
  // A test that is killed from outside runs no teardown.
  const killNow = () => void child?.kill('SIGKILL')
  process.once('exit', killNow)
  const remove = async (): Promise<void> => {
    await kill()
    process.off('exit', killNow)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await start()
  } catch (error) {
    await remove()
    throw error
  }
  t.teardown(remove)
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

/** Another server may respond on the port, so this waits for the server's own output. */
async function listening(child: ChildProcess): Promise<void> {
  if (!child.stdout) throw new Error('redis-server has no output')
  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  const late = setTimeout(() => ready.reject(new Error(`redis-server did not start: ${lines.join('\n')}`)), startMs)
  child.once('error', ready.reject)
  child.once('close', () => ready.reject(new EndedEarly(`redis-server ended: ${lines.join('\n')}`)))
  createInterface({ input: child.stdout }).on('line', line => {
    lines.push(line)
    if (/ready to accept connections/i.test(line)) ready.resolve()
  })
  try {
    await ready.promise
  } finally {
    clearTimeout(late)
  }
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
