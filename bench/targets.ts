import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { family } from './measure.ts'
import { peersFolder } from './peers/folder.ts'

export type TargetName =
  | 'direct'
  | 'nginx'
  | 'haproxy'
  | 'bare-node'
  | 'bare-undici'
  | 'bare-http-proxy'
  | 'portkey'
  | 'litellm'
  | 'against'
  | VariantName
  | 'tollgate'

/** A target of the load. */
export type Running = {
  readonly name: TargetName
  readonly url: string
  /** Additional request headers. */
  readonly headers: { readonly [name: string]: string }
  /** Address of metrics with the delay of the event loop, if there are some. */
  readonly ops: string | undefined
  pids(): readonly number[]
  /** The number of charges in its record, if it keeps one. */
  countCharges?(this: void): Promise<number>
}

/** The site of the targets: a temporary folder, and the fake upstream. */
export type Site = {
  readonly folder: string
  readonly upstream: string
  readonly stop: AbortController
  /** The checkout of another commit of this repository, to be measured next to this one. */
  readonly against?: string
  /** The folder of the peers; the default is in `peers/folder.ts`. */
  readonly peers?: string
  /** A script that is loaded before a gateway. */
  readonly before?: string
}

const here = new URL('.', import.meta.url).pathname
const root = new URL('..', import.meta.url).pathname
const portkeyScript = 'node_modules/@portkey-ai/gateway/build/start-server.js'
const howToInstall = 'npm run bench:peers -- --install-only'

export const starters: { readonly [name in TargetName]: (site: Site) => Promise<Running> } = {
  direct: async site => ({ name: 'direct', url: site.upstream, headers: {}, ops: undefined, pids: () => [] }),
  nginx: startNginx,
  haproxy: startHaproxy,
  'bare-node': site => startPeer('bare-node', site),
  'bare-undici': site => startPeer('bare-undici', site),
  'bare-http-proxy': site => startPeer('bare-http-proxy', site),
  portkey: startPortkey,
  litellm: startLitellm,
  against: site => startTollgate(site, 'against', site.against),
  translated: site => startVariant(site, 'translated'),
  'without-lines': site => startVariant(site, 'without-lines'),
  'without-limits': site => startVariant(site, 'without-limits'),
  'without-charges': site => startVariant(site, 'without-charges'),
  'without-plugins': site => startVariant(site, 'without-plugins'),
  tollgate: site => startTollgate(site, 'tollgate', root),
}

/** This gateway with a changed configuration, in turns with its own. */
const variants = {
  /** Its chat model also accepts messages. */
  translated: [
    [/^ {4}streams: \[chat\]$/m, '    streams: [chat]\n    forward: { chat: { all: true } }\n    format-bridge: {}'],
    [/bench-chat: \{ family: chat,/, 'bench-chat: { family: chat, accepts: [messages],'],
    [/^routes:$/m, 'routes:\n  - { match: POST /v1/messages, operation: messages, dialect: anthropic, body: json }'],
  ],
  'without-lines': [[/^server: \{/m, 'server: { log_level: warn,']],
  'without-limits': [[/default: \{ rpm: \d+ \}/, 'default: {}']],
  'without-charges': [[/prices: \{ input: [^}]*\}/g, 'price: free']],
  /** Only the plugins that a charged and limited chat needs. */
  'without-plugins': [
    [/^pipeline: .*$/m, 'pipeline: [auth, ratelimit, token-usage]'],
    [/^ {2}image:\n(?: {4}.*\n)+/m, ''],
    [/^ {2}bench-image: .*\n/m, ''],
    [/^ {2}- .*operation: image.*\n?/gm, ''],
  ],
} as const satisfies { readonly [name: string]: readonly (readonly [find: RegExp, put: string])[] }

type VariantName = keyof typeof variants

async function startVariant(site: Site, name: VariantName): Promise<Running> {
  let text = await readFile(join(here, 'gateway.yaml'), 'utf8')
  for (const [find, put] of variants[name]) {
    const edited = text.replace(find, put)
    if (edited === text) throw new Error(`bench/gateway.yaml has no ${String(find)}`)
    text = edited
  }
  const file = join(site.folder, `${name}.yaml`)
  await writeFile(file, text)
  return startTollgate(site, name, root, file)
}

/** Starts the fake upstream; returns its address. */
export async function startUpstream(site: Omit<Site, 'upstream'>): Promise<string> {
  const port = await freePort()
  run(site, process.execPath, [join(here, 'upstream.ts'), String(port)])
  await answering(port)
  return `http://127.0.0.1:${port}`
}

async function startPeer(name: 'bare-node' | 'bare-undici' | 'bare-http-proxy', site: Site): Promise<Running> {
  const script = join(here, 'peers', `${name}.ts`)
  return { name, headers: {}, ...(await startNode(site, port => [script, String(port), site.upstream])) }
}

/** Starts a Node peer, with a probe in it that reports the delay of its event loop. */
async function startNode(
  site: Site,
  args: (port: number) => readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Pick<Running, 'url' | 'ops' | 'pids'>> {
  const [port, probe] = [await freePort(), await freePort()]
  const given = ['--import', join(here, 'peers/loop-probe.ts'), ...args(port)]
  const pid = run(site, process.execPath, given, { ...env, BENCH_PROBE_PORT: String(probe) })
  await answering(port)
  return { url: `http://127.0.0.1:${port}`, ops: `http://127.0.0.1:${probe}`, pids: () => family(pid) }
}

async function startNginx(site: Site): Promise<Running> {
  const port = await freePort()
  const file = join(site.folder, 'nginx.conf')
  await writeFile(
    file,
    `daemon off; worker_processes 1; pid ${site.folder}/nginx.pid; error_log ${site.folder}/nginx.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http {
  access_log off; client_max_body_size 64m; keepalive_requests 1000000;
  client_body_temp_path ${site.folder}/body; proxy_temp_path ${site.folder}/proxy;
  fastcgi_temp_path ${site.folder}/f; uwsgi_temp_path ${site.folder}/u; scgi_temp_path ${site.folder}/s;
  upstream fake { server ${site.upstream.slice('http://'.length)}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://fake; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off;
    }
  }
}
`,
  )
  const pid = run(site, 'nginx', ['-c', file, '-e', join(site.folder, 'nginx.log')])
  await answering(port)
  return { name: 'nginx', url: `http://127.0.0.1:${port}`, headers: {}, ops: undefined, pids: () => family(pid) }
}

async function startHaproxy(site: Site): Promise<Running> {
  const port = await freePort()
  const file = join(site.folder, 'haproxy.cfg')
  await writeFile(
    file,
    `global
  maxconn 4096
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend in
  bind 127.0.0.1:${port}
  default_backend fake
backend fake
  server fake ${site.upstream.slice('http://'.length)}
`,
  )
  const pid = run(site, 'haproxy', ['-db', '-f', file])
  await answering(port)
  return { name: 'haproxy', url: `http://127.0.0.1:${port}`, headers: {}, ops: undefined, pids: () => family(pid) }
}

async function startPortkey(site: Site): Promise<Running> {
  const script = join(site.peers ?? peersFolder, 'portkey', portkeyScript)
  if (!existsSync(script)) throw new Error(`Portkey is not installed: ${howToInstall}`)
  const env = { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost', NODE_ENV: 'production' }
  const started = await startNode(site, port => [script, `--port=${port}`, '--headless'], env)
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${site.upstream}/v1`,
    authorization: 'Bearer upstream-key',
  }
  return { name: 'portkey', headers, ...started }
}

/** LiteLLM's proxy in one process, without a database: it passes on, counts nothing and keeps nothing. */
async function startLitellm(site: Site): Promise<Running> {
  const program = join(site.peers ?? peersFolder, 'litellm/bin/litellm')
  if (!existsSync(program)) throw new Error(`LiteLLM is not installed: ${howToInstall}`)
  const file = join(site.folder, 'litellm.yaml')
  const model = (name: string, mode: string): string =>
    `{ model_name: ${name}, litellm_params: { model: openai/${name}, api_base: "${site.upstream}/v1", api_key: upstream-key, input_cost_per_token: 0.0000005, output_cost_per_token: 0.0000015 }, model_info: { mode: ${mode} } }`
  await writeFile(
    file,
    `model_list: [${model('bench-chat', 'chat')}, ${model('bench-image', 'image_generation')}]
litellm_settings: { telemetry: false, num_retries: 0, request_timeout: 60 }
general_settings: { master_key: sk-bench }
`,
  )
  const port = await freePort()
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
  // At its start it would request prices from a remote server.
  const pid = run(site, program, args, { LITELLM_LOG: 'ERROR', LITELLM_LOCAL_MODEL_COST_MAP: 'True' })
  await answering(port, 250, 60_000)
  return {
    name: 'litellm',
    url: `http://127.0.0.1:${port}`,
    headers: { authorization: 'Bearer sk-bench' },
    ops: undefined,
    pids: () => family(pid),
  }
}

async function startTollgate(
  site: Site,
  name: 'against' | 'tollgate' | VariantName,
  checkout?: string,
  config = join(checkout ?? '', 'bench/gateway.yaml'),
): Promise<Running> {
  if (checkout === undefined) throw new Error('no other commit: --against COMMIT')
  const storage = `sqlite:${join(site.folder, `${name}.db`)}`
  const { env, ...gateway } = await startGateway(site, { config, storage, checkout })
  const command = async (...args: readonly string[]): Promise<unknown> => {
    const given = [binOf(checkout), ...args, '-c', config, '--format', 'json']
    return JSON.parse((await promisify(execFile)(process.execPath, given, { env: { ...process.env, ...env } })).stdout)
  }
  const { key } = (await command('keys', 'create', '--name', 'bench')) as { key: string }
  // Audits every charge: an inconsistency is an error.
  const countCharges = async (): Promise<number> => ((await command('ledger', 'verify')) as { charges: number }).charges
  return { ...gateway, name, headers: { authorization: `Bearer ${key}` }, countCharges }
}

function binOf(checkout: string): string {
  return join(checkout, 'src/cli/tollgate.cjs')
}

/** Starts the gateway on a configuration and a storage; `env` is what its other commands need to find both. */
export async function startGateway(
  site: Site,
  {
    config,
    storage,
    checkout = root,
  }: { readonly config: string; readonly storage: string; readonly checkout?: string },
): Promise<Pick<Running, 'url' | 'pids'> & { readonly ops: string; readonly env: NodeJS.ProcessEnv }> {
  const [port, ops] = [await freePort(), await freePort()]
  const env = {
    TOLLGATE_LISTEN: `127.0.0.1:${port}`,
    TOLLGATE_OPS: `127.0.0.1:${ops}`,
    TOLLGATE_STORAGE: storage,
    BENCH_UPSTREAM: site.upstream,
    // As the container image and the systemd unit set it.
    MALLOC_ARENA_MAX: '2',
  }
  const before = site.before === undefined ? [] : ['--import', site.before]
  const pid = run(site, process.execPath, [...before, binOf(checkout), 'serve', '-c', config], env)
  await answering(port)
  return { url: `http://127.0.0.1:${port}`, ops: `http://127.0.0.1:${ops}`, env, pids: () => family(pid) }
}

/** Starts a process that ends when the site does; returns its id. Its output is dropped, unless it dies early. */
function run(site: Pick<Site, 'stop'>, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): number {
  const child = spawn(command, [...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: site.stop.signal,
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 4096) said += chunk.toString()
  })
  child.on('error', () => undefined)
  child.on('exit', code => {
    if (!site.stop.signal.aborted) process.stderr.write(`bench: ${command} ${args[0]} ended with ${code}\n${said}\n`)
  })
  if (child.pid === undefined) throw new Error(`${command} could not be started`)
  return child.pid
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** Waits until a process listens on a port. @throws Error if none does in time */
export async function answering(port: number, everyMs = 50, mostMs = 20_000): Promise<void> {
  for (const deadline = Date.now() + mostMs; Date.now() < deadline; ) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true) ?? socket.destroy())
      socket.once('error', () => resolve(false))
    })
    if (open) return
    await new Promise(resolve => setTimeout(resolve, everyMs))
  }
  throw new Error(`nothing listens on port ${port} after ${mostMs / 1000} s`)
}
