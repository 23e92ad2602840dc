import { fork, type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { chatRequest } from './bodies.ts'
import { openCheckout } from './checkout.ts'
import { answering, freePort, startUpstream } from './targets.ts'

// `node bench/walk.ts [--against COMMIT] [--files]`: what one request costs that no clock tells: files and functions
// entered, promises made, objects and bytes allocated. Counts, so that they are the same on a busy machine.

const { values: options } = parseArgs({
  options: { against: { type: 'string' }, files: { type: 'boolean', default: false } },
})
const root = new URL('..', import.meta.url).pathname
const requests = {
  chat: { path: '/v1/chat/completions', body: chatRequest('bench-chat', false), times: 200 },
  image: {
    path: '/v1/images/generations',
    body: JSON.stringify({ model: 'bench-image', prompt: 'a boat', n: 1 }),
    times: 10,
  },
}

/** A request, and how often it is sent while one thing is counted: an answer of megabytes is walked slowly. */
type Asked = { readonly path: string; readonly body: string | Buffer; readonly times: number }

type Counted = { readonly files: readonly string[]; readonly figures: { readonly [name: string]: number } }

const folder = await mkdtemp(join(tmpdir(), 'tollgate-walk-'))
const stop = new AbortController()
const checkout = options.against === undefined ? undefined : await openCheckout(options.against, folder)
try {
  const upstream = await startUpstream({ folder, stop })
  for (const [what, asked] of Object.entries(requests)) {
    const walked = new Map<string, Counted>()
    if (checkout) walked.set(checkout.commit, await walk(checkout.folder, upstream, asked))
    walked.set('here', await walk(root, upstream, asked))
    print(what, walked)
  }
} finally {
  stop.abort()
  checkout?.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Counts one kind of request at a gateway of its own, each thing by itself, since counting one changes the others. */
async function walk(at: string, upstream: string, asked: Asked): Promise<Counted> {
  const { times } = asked
  const config = join(at, 'bench/gateway.yaml')
  const port = await freePort()
  const env = {
    ...process.env,
    TOLLGATE_LISTEN: `127.0.0.1:${port}`,
    TOLLGATE_OPS: `127.0.0.1:${await freePort()}`,
    TOLLGATE_STORAGE: `sqlite:${join(folder, `${port}.db`)}`,
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
    const ask = async (): Promise<void> => {
      for (let i = 0; i < times; i++) await send({ port, agent, key, ...asked })
    }
    await ask()
    const calls = (await count(gateway, 'calls', ask)) as { [url: string]: number }
    const { promises } = (await count(gateway, 'promises', ask)) as { promises: number }
    const { objects, bytes } = (await count(gateway, 'heap', ask)) as { objects: number; bytes: number }
    agent.destroy()
    // What runs less than once in two requests belongs to the batches behind them.
    const entered = Object.entries(calls).filter(([, called]) => called >= times / 2)
    const called = entered.reduce((sum, [, one]) => sum + one, 0)
    const figures = {
      files: entered.length,
      calls: called / times,
      promises: promises / times,
      objects: objects / times,
      bytes: bytes / times,
    }
    return { files: entered.map(([url]) => url.slice(url.indexOf(at) + at.length)).sort(), figures }
  } finally {
    gateway.kill()
    await once(gateway, 'exit')
  }
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

function print(what: string, walked: ReadonlyMap<string, Counted>): void {
  process.stdout.write(`\n${what}, each request\n`)
  for (const [name, { figures, files }] of walked) {
    const text = Object.entries(figures).map(([figure, value]) => `${figure} ${Math.round(value)}`)
    process.stdout.write(`  ${name.padEnd(8)} ${text.join('  ')}\n`)
    if (options.files) for (const file of files) process.stdout.write(`    ${file}\n`)
  }
}
