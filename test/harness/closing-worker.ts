import { createServer } from 'node:net'

// A worker that is busy for a while when it is sent `busy`, and that closes its server after that for `close`.
const server = createServer(socket => socket.end('answer'))
// The workers of a cluster share the port that the system assigns.
server.listen({ port: 0, host: '127.0.0.1' })
process.on('message', message => {
  const [ms, closes] = message === 'close' ? [400, true] : [1_200, false]
  for (const until = performance.now() + ms; performance.now() < until; );
  if (!closes) return
  server.close()
  setTimeout(() => process.exit(), 100)
})
