// CPU of uploads that pass through unread: through the gateway, and through `proxy.web` of http-proxy-3 alone, in
// turns. node bench/uploads.ts [rounds] [megabytes]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Ready = { readonly port: number; readonly key: string }
type Use = { readonly cpuMs: number; readonly rssMiB: number }

const [mode = '8', size = '50'] = process.argv.slice(2)
const child = process.env['UPLOADS_CHILD']
if (child === 'proxy') await serveProxy(mode)
else if (child === 'gateway') await serveGateway(mode)
else await compare(Number(mode), Number(size) * 1024 * 1024)

async function serveProxy(target: string): Promise<void> {
  const { default: httpProxy } = await import('http-proxy-3')
  const proxy = httpProxy.createProxyServer({ target })
  const server = createServer((req, res) => proxy.web(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  report({ port: (server.address() as AddressInfo).port, key: '' })
}

async function serveGateway(target: string): Promise<void> {
  const { createGateway, createKey } = await import('../src/index.ts')
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-uploads-'))
  const text = await readFile(new URL('../gateway.yaml', import.meta.url), 'utf8')
  const env = { TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: 'off', TEXT_URL: target }
  const storage = { TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}` }
  const gateway = await createGateway({ text, file: join(folder, 'gateway.yaml') }, { env: { ...env, ...storage } })
  const { url } = await gateway.listen()
  const { secret } = await createKey(gateway.storage, { name: 'bench', user: 'local' })
  process.once('disconnect', () => void gateway.close().then(() => rm(folder, { recursive: true })))
  report({ port: Number(new URL(url).port), key: secret })
}

function report(ready: Ready): void {
  process.send?.(ready)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMs: (user + system) / 1_000, rssMiB: process.memoryUsage.rss() / 1024 / 1024 })
  })
}

async function compare(rounds: number, bytes: number): Promise<void> {
  const sink = createServer((req, res) => {
    const answer = JSON.stringify({ id: `file-${Math.random()}`, object: 'file', bytes: 1 })
    req.resume().once('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(answer))
  })
  sink.listen(0, '127.0.0.1')
  await once(sink, 'listening')
  const target = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`
  const chunk = Buffer.alloc(64 * 1024, 1)
  const open = async (kind: string) => {
    const process_ = fork(import.meta.filename, [target], { env: { ...process.env, UPLOADS_CHILD: kind } })
    const [ready] = (await once(process_, 'message')) as [Ready]
    const use = async (): Promise<Use> => {
      const answer = once(process_, 'message')
      process_.send('use')
      return ((await answer) as [Use])[0]
    }
    return { kind, process_, ready, use, all: [] as number[], rss: 0 }
  }
  const both = [await open('proxy'), await open('gateway')]
  // The first round warms both up.
  for (let round = 0; round <= rounds; round++)
    for (const one of round % 2 === 0 ? both : both.toReversed()) {
      const before = await one.use()
      await upload(one.ready, bytes, chunk)
      const after = await one.use()
      one.rss = Math.max(one.rss, after.rssMiB)
      if (round > 0) one.all.push(after.cpuMs - before.cpuMs)
    }
  for (const { kind, all, rss, process_ } of both) {
    const sorted = all.toSorted((a, b) => a - b)
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0
    const range = `${sorted[0]?.toFixed(0)}–${sorted.at(-1)?.toFixed(0)}`
    console.log(
      `${kind}: ${median.toFixed(0)} ms of CPU for ${bytes / 1024 / 1024} MiB (${range}), RSS ${rss.toFixed(0)} MiB`,
    )
    process_.disconnect()
  }
  sink.close()
}

async function upload({ port, key }: Ready, bytes: number, chunk: Buffer): Promise<void> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'multipart/form-data; boundary=x',
    'content-length': bytes,
  }
  const req = request({ host: '127.0.0.1', port, path: '/v1/files', method: 'POST', headers })
  const answer = once(req, 'response')
  for (let sent = 0; sent < bytes; sent += chunk.length)
    if (!req.write(chunk.subarray(0, bytes - sent))) await once(req, 'drain')
  req.end()
  const [res] = (await answer) as [import('node:http').IncomingMessage]
  res.resume()
  await once(res, 'end')
  if (res.statusCode !== 200) throw new Error(`an upload got ${res.statusCode}`)
}
