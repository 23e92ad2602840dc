import { createServer } from 'node:http'

// The minimum cost of a refusal with `node:http`: reads the body, and answers a 429 of the gateway's size without any check.
const [port] = process.argv.slice(2)
const headers = {
  'x-request-id': 'req_01KB5V0Z6Q8N4T2W7Y3C9D1E5F',
  'request-id': 'req_01KB5V0Z6Q8N4T2W7Y3C9D1E5F',
  'content-type': 'application/json',
  'retry-after': '42',
  'retry-after-ms': '42000',
  'x-ratelimit-limit-requests': '1',
  'x-ratelimit-remaining-requests': '0',
  'x-ratelimit-reset-requests': '42s',
}
const message = 'The model has a limit of 1 request a minute, which is used up. Try again in 42 seconds.'
const body = JSON.stringify({ error: { message, type: 'rate_limit_error', param: null, code: 'rate_limited' } })

createServer((req, res) => {
  req.on('end', () => {
    res.writeHead(429, { ...headers, 'content-length': Buffer.byteLength(body) })
    res.end(body)
  })
  req.resume()
}).listen(Number(port), '127.0.0.1')
