import { createServer, type Server } from 'node:http'
import type { Awaitable } from './kit/index.ts'
import type { Metrics } from './observe/index.ts'

/** The listener for operators: `/healthz` (the process runs), `/readyz` (it takes work), `/metrics`. */
export function createOpsServer(parts: {
  readonly metrics: Pick<Metrics, 'expose'>
  isReady(): Awaitable<boolean>
}): Server {
  return createServer((req, res) => {
    const say = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
    }
    const path = req.url?.split('?', 1)[0]
    if (req.method !== 'GET') return say(405, 'only GET is taken here\n')
    if (path === '/healthz') return say(200, 'ok\n')
    if (path === '/readyz') {
      void Promise.resolve(parts.isReady()).then(ready => (ready ? say(200, 'ready\n') : say(503, 'not ready\n')))
      return
    }
    if (path !== '/metrics') return say(404, 'there are /healthz, /readyz and /metrics\n')
    parts.metrics.expose().then(
      ({ contentType, text }) => say(200, text, contentType),
      (error: unknown) => say(500, `metrics failed: ${String(error)}\n`),
    )
  })
}
