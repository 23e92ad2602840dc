import { Agent, createServer } from 'node:http'
import httpProxy from 'http-proxy-3'

// Plain http-proxy-3 with a keep-alive agent: no plugins, no checks.
const [port, target] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const proxy = httpProxy.createProxyServer({ target: String(target), agent })
proxy.on('error', (_error, _req, res) => void ('writeHead' in res ? res.writeHead(502).end() : res.destroy()))
createServer((req, res) => proxy.web(req, res)).listen(Number(port), '127.0.0.1')
