import { execFile, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { onFreePort } from './free-port.ts'
import { frontFolder, runFront } from './run-front.ts'

const shipped = new URL('../../deploy/compose/nginx.conf', import.meta.url)

/** Why tests with nginx cannot run here; false when they can. */
export function nginxMissing(): string | false {
  return spawnSync('nginx', ['-v']).error ? 'nginx is not installed' : false
}

/** A proxy in front of other servers. */
export type Front = {
  readonly url: string
  /** The content of its error log so far. */
  readonly errors: () => Promise<string>
}

/** The folder and addresses for a configuration of nginx. */
export type NginxPlace = { readonly folder: string; readonly port: number }

/**
 * Starts nginx with the shipped configuration. Only addresses and the paths of its files are changed; and, for tests
 * that cannot wait, the keep-alive time of idle connections, and the pause of a gateway that refuses connections.
 */
export async function startFront(t: Pick<Test, 'teardown'>, servers: readonly string[], idle?: string): Promise<Front> {
  const text = await readFile(shipped, 'utf8')
  return startNginx(t, 'http', place => adapt(text, place, servers, idle))
}

/** Starts nginx with the text of a configuration. */
export async function startNginx(
  t: Pick<Test, 'teardown'>,
  scheme: 'http' | 'https',
  write: (place: NginxPlace) => string | Promise<string>,
): Promise<Front> {
  const folder = await frontFolder(t)
  const config = join(folder, 'nginx.conf')
  const errorLog = join(folder, 'error.log')
  return onFreePort(async port => {
    await writeFile(config, await write({ folder, port }))
    await promisify(execFile)('nginx', ['-t', '-q', '-c', config, '-e', errorLog])
    await runFront(t, port, 'nginx', ['-c', config, '-e', errorLog])
    return { url: `${scheme}://127.0.0.1:${port}`, errors: () => readFile(errorLog, 'utf8') }
  })
}

/** Settings next to the servers, so that nginx runs in a folder and in the foreground. */
export function aroundServers({ folder }: NginxPlace, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')
  return `worker_processes 1; ${foreground()}
    pid ${folder}/nginx.pid; error_log ${folder}/error.log warn;
    events { worker_connections 512; }
    http { access_log off; ${paths}\n${http}\n}`
}

const foreground = (): string => `daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''}`

/** Replaces a text. @throws Error when it does not occur */
export function replace(text: string, find: RegExp | string, replacement: string): string {
  const next = text.replace(find, replacement)
  if (next === text) throw new Error(`the configuration has no ${String(find)}`)
  return next
}

function adapt(
  shippedText: string,
  { folder, port }: NginxPlace,
  servers: readonly string[],
  idle: string | undefined,
): string {
  const addresses = servers.map(url => new URL(url).host)
  let text = shippedText
  const put = (find: RegExp, replacement: string): void => void (text = replace(text, find, replacement))
  put(/listen 8080;/, `listen 127.0.0.1:${port};`)
  put(/(?: *server [\d.]+:8080 (.*);\n)+/, addresses.map(address => `    server ${address} $1;\n`).join(''))
  if (idle !== undefined) {
    put(/keepalive_timeout 4s;/, `keepalive_timeout ${idle};`)
    // If gateways restart faster than this, all of them are paused at the end.
    put(/fail_timeout=5s/g, `fail_timeout=${idle}`)
  }
  put(/\/tmp\//g, `${folder}/`)
  put(/error_log stderr warn;/, `error_log ${folder}/error.log warn;`)
  put(/\/dev\/stdout/, `${folder}/access.log`)
  put(/worker_processes auto;/, `worker_processes 1; ${foreground()}`)
  return text
}
