import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import httpProxy from 'http-proxy-3'
import { type Dispatcher, Pool } from 'undici'

// The minimum cost of our own transport: http-proxy-3's frame, undici's dispatch in place of its stream pass,
// back-pressure both ways, and nothing else.
const [port, target] = process.argv.slice(2)
const pool = new Pool(String(target), { connections: 256 })
const proxy = httpProxy.createProxyServer({})
const dropped = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding'])

class Pass implements Dispatcher.DispatchHandler {
  readonly #res: ServerResponse
  #controller: Dispatcher.DispatchController | undefined

  constructor(res: ServerResponse) {
    this.#res = res
    res.on('drain', () => this.#controller?.resume())
    res.on('close', () => {
      if (!res.writableFinished) this.#controller?.abort(new Error('caller gone'))
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: { [name: string]: unknown }): void {
    if (status < 200) return
    delete headers['connection']
    delete headers['keep-alive']
    delete headers['transfer-encoding']
    this.#res.writeHead(status, headers as { [name: string]: string })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#res.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#res.end()
  }

  onResponseError(): void {
    if (this.#res.headersSent) this.#res.destroy()
    else this.#res.writeHead(502).end()
  }
}

proxy.before('web', 'stream', (req: IncomingMessage, res: ServerResponse) => {
  const headers: string[] = []
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = String(req.rawHeaders[i])
    if (!dropped.has(name.toLowerCase())) headers.push(name, String(req.rawHeaders[i + 1]))
  }
  const method = req.method as Dispatcher.HttpMethod
  pool.dispatch({ method, path: req.url ?? '/', headers, body: req }, new Pass(res))
  return true
})

createServer((req, res) => proxy.web(req, res, { target: String(target) })).listen(Number(port), '127.0.0.1')
