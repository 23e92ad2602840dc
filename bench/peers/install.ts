import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { lastWords } from './checks.ts'

// Peers and the commands that install them, by the package managers of the machine, into one folder.

const litellmVersion = '1.106.2'
const bench = new URL('..', import.meta.url).pathname
/** A peer whose installation takes longer is skipped, with that as its reason. */
const installMinutesMax = 15

type Command = readonly [command: string, ...args: string[]]

/** A program that is measured next to the gateway. */
export type Peer = {
  readonly name: string
  readonly title: string
  /** Prints its installed version; undefined for programs of the project. */
  version?(this: void, folder: string): Command
  /** Undefined for programs of the project. */
  install?(this: void, folder: string): readonly Command[]
  /** Its work in addition to forwarding requests, in the configuration used here. */
  readonly does: string
  /** False if its packages can be installed but this bench cannot start it yet, which the report states. */
  readonly isStarted?: false
}

/** Unpacks a Debian package into the folder: that needs no root, and changes nothing in the system. */
const unpack = (folder: string, name: string): readonly Command[] => [
  ['sh', '-c', 'cd "$0" && apt-get download "$1" && dpkg -x "$1"_*.deb system', folder, name],
]
const npm = (folder: string, name: string): readonly Command[] => [
  ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder, name],
]
const go = (folder: string, name: string): readonly Command[] => [
  ['env', `GOBIN=${join(folder, 'go')}`, 'go', 'install', name],
]

export const peers: readonly Peer[] = [
  {
    name: 'nginx',
    title: 'nginx',
    does: 'passes on',
    version: () => ['nginx', '-v'],
    install: folder => unpack(folder, 'nginx'),
  },
  {
    name: 'haproxy',
    title: 'HAProxy',
    does: 'passes on',
    version: () => ['haproxy', '-v'],
    install: folder => unpack(folder, 'haproxy'),
  },
  { name: 'bare-undici', title: 'bare pass (undici)', does: 'passes on' },
  { name: 'bare-http-proxy', title: 'http-proxy-3', does: 'passes on' },
  {
    name: 'portkey',
    title: 'Portkey',
    does: 'routes; without keys, limits and records',
    version: folder => [
      'node',
      '-p',
      'JSON.parse(fs.readFileSync(process.argv[1])).version',
      join(folder, 'portkey/node_modules/@portkey-ai/gateway/package.json'),
    ],
    install: folder => {
      mkdirSync(join(folder, 'portkey'), { recursive: true })
      for (const file of ['package.json', 'package-lock.json'])
        copyFileSync(join(bench, file), join(folder, 'portkey', file))
      return [['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', join(folder, 'portkey')]]
    },
  },
  {
    name: 'litellm',
    title: 'LiteLLM',
    does: 'master key, routes, price of each response; one process without its database, so without records',
    version: folder => [join(folder, 'litellm/bin/pip'), 'list', '--format=freeze', '--disable-pip-version-check'],
    install: folder => [
      ['python3', '-m', 'venv', join(folder, 'litellm')],
      [join(folder, 'litellm/bin/pip'), 'install', '--quiet', `litellm[proxy]==${litellmVersion}`],
    ],
  },
  {
    name: 'bifrost',
    title: 'Bifrost',
    does: '',
    isStarted: false,
    version: folder => [join(folder, 'bifrost/node_modules/.bin/bifrost'), '--version'],
    install: folder => npm(join(folder, 'bifrost'), '@maximhq/bifrost@1.6.3'),
  },
  {
    name: 'new-api',
    title: 'new-api',
    does: '',
    isStarted: false,
    version: folder => [join(folder, 'go/new-api'), '--version'],
    install: folder => go(folder, 'github.com/QuantumNous/new-api@latest'),
  },
  {
    name: 'one-api',
    title: 'one-api',
    does: '',
    isStarted: false,
    version: folder => [join(folder, 'go/one-api'), '--version'],
    install: folder => go(folder, 'github.com/songquanpeng/one-api@latest'),
  },
  {
    name: 'agentgateway',
    title: 'agentgateway',
    does: '',
    isStarted: false,
    version: folder => [join(folder, 'cargo/bin/agentgateway'), '--version'],
    install: folder => [['cargo', 'install', '--root', join(folder, 'cargo'), 'agentgateway']],
  },
  {
    name: 'envoy-ai-gateway',
    title: 'Envoy AI Gateway',
    does: '',
    isStarted: false,
    version: folder => [join(folder, 'go/aigw'), 'version'],
    install: folder => go(folder, 'github.com/envoyproxy/ai-gateway/cmd/aigw@latest'),
  },
  { name: 'tollgate', title: 'Tollgate', does: 'keys, limits, charges, log and metrics' },
]

/** The result of an installation: the version, or why the peer is not measured. */
export type Installed = { readonly version: string } | { readonly reason: string }

/** Installs a peer unless it is installed. Never throws: an error becomes the reason. */
export async function install(peer: Peer, folder: string): Promise<Installed> {
  if (!peer.version) return { version: `of this commit, Node ${process.version}` }
  const there = versionOf(peer, folder)
  if (there !== undefined) return usable(peer, there)
  mkdirSync(folder, { recursive: true })
  process.stderr.write(`installs ${peer.title}\n`)
  for (const command of peer.install?.(folder) ?? []) {
    const reason = await runCommand(command)
    if (reason !== undefined) return { reason: `\`${spell(command, folder)}\`: ${reason}` }
  }
  const version = versionOf(peer, folder)
  if (version !== undefined) return usable(peer, version)
  const command = peer.version(folder)
  const { stdout, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8', timeout: 60_000 })
  return { reason: `installed, but does not start: ${lastWords(error?.message ?? `${stdout}\n${stderr}`)}` }
}

function usable({ isStarted }: Peer, version: string): Installed {
  return isStarted === false
    ? { reason: `can be installed here (${version}), but this bench has no configuration for it yet` }
    : { version }
}

/** The version that a peer prints; undefined if it is not installed. */
function versionOf({ version }: Peer, folder: string): string | undefined {
  const [command, ...args] = version?.(folder) ?? ['false']
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 })
  if (status !== 0) return undefined
  const said = `${stdout}${stderr}`
  return /litellm==(\S+)/.exec(said)?.[1] ?? /\d+\.\d[\w.+~-]*/.exec(said)?.[0]
}

/** A command without its paths in the folder. */
function spell(command: Command, folder: string): string {
  return command.filter(part => part !== 'env' && !part.includes(folder)).join(' ')
}

/** Why a command failed; undefined if it succeeded. */
async function runCommand([command, ...args]: Command): Promise<string | undefined> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-8_192)
    })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    // Kills its children too, such as a package manager's compilers.
    if (child.pid !== undefined) process.kill(-child.pid)
  }, installMinutesMax * 60_000)
  const code = await new Promise<number | Error | null>(done => child.once('error', done).once('close', done))
  clearTimeout(timer)
  if (isLate) return `not ready after ${installMinutesMax} minutes`
  if (code instanceof Error) return code.message
  return code === 0 ? undefined : lastWords(said)
}
