import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

const shipped = new URL('../../deploy/compose/nginx.conf', import.meta.url)

/** Why tests with nginx cannot run here; false when they can. */
export function nginxMissing(): string | false {
  return spawnSync('nginx', ['-v']).error ? 'nginx is not installed' : false
}

/** nginx as `deploy/compose` has it, in front of other servers. */
export type Front = {
  readonly url: string
  /** What nginx wrote to its error log so far. */
  readonly errors: () => Promise<string>
}

/**
 * Starts nginx with the shipped configuration: of it only addresses, and the places of its files, are changed; and, for a
 * test that has no time, how long idle connections are kept and a gateway that refuses connections is paused.
 */
export async function startFront(t: Pick<Test, 'teardown'>, servers: readonly string[], idle?: string): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-nginx-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  const errorLog = join(folder, 'error.log')
  await writeFile(config, adapt(await readFile(shipped, 'utf8'), { folder, port, servers, idle }))
  await promisify(execFile)('nginx', ['-t', '-q', '-c', config, '-e', errorLog])
  const child = spawn('nginx', ['-c', config, '-e', errorLog], { stdio: 'ignore' })
  const gone = once(child, 'exit')
  // Whoever ends this process ends nginx with it.
  const end = (): void => void child.kill('SIGTERM')
  process.on('exit', end)
  t.teardown(async () => {
    process.off('exit', end)
    end()
    await gone
  })
  await answering(port, child)
  return { url: `http://127.0.0.1:${port}`, errors: () => readFile(errorLog, 'utf8') }
}

type Place = {
  readonly folder: string
  readonly port: number
  readonly servers: readonly string[]
  readonly idle: string | undefined
}

function adapt(shippedText: string, { folder, port, servers, idle }: Place): string {
  const addresses = servers.map(url => new URL(url).host)
  let text = shippedText
  const put = (find: RegExp, replacement: string): void => {
    const next = text.replace(find, replacement)
    if (next === text) throw new Error(`nginx.conf has no ${String(find)}`)
    text = next
  }
  put(/listen 8080;/, `listen 127.0.0.1:${port};`)
  put(/(?: *server [\d.]+:8080 (.*);\n)+/, addresses.map(address => `    server ${address} $1;\n`).join(''))
  if (idle !== undefined) {
    put(/keepalive_timeout 4s;/, `keepalive_timeout ${idle};`)
    // Gateways that are restarted faster than this is long are all paused at the end.
    put(/fail_timeout=5s/g, `fail_timeout=${idle}`)
  }
  put(/\/tmp\//g, `${folder}/`)
  put(/error_log stderr warn;/, `error_log ${folder}/error.log warn;`)
  put(/\/dev\/stdout/, `${folder}/access.log`)
  put(/worker_processes auto;/, `worker_processes 1; daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''}`)
  return text
}

/** Asks nothing: a request would reach the servers behind. */
async function answering(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error(`nginx ended with ${child.exitCode}`)
}
