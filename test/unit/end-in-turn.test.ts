import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { endInTurn } from '../../src/engine/end-in-turn.ts'

/** Responses to requests that were sent as given, each on its own connection. */
async function openResponses(t: Test, ...requests: readonly string[]): Promise<readonly ServerResponse[]> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const opened: ServerResponse[] = []
  for (const request of requests) {
    const client = connect(port, '127.0.0.1')
    client.on('error', () => undefined)
    t.teardown(() => client.destroy())
    client.write(request)
    const [, res] = (await once(server, 'request')) as [unknown, ServerResponse]
    res.req.resume()
    opened.push(res)
  }
  t.teardown(() => server.close())
  return opened
}

const whole = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const unfinished = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{'

t.test('responses of one turn end together at its end', async t => {
  const [first, second] = (await openResponses(t, whole, whole)) as [ServerResponse, ServerResponse]
  endInTurn(first, 'one')
  endInTurn(second, 'two')
  t.notOk(first.writableEnded || second.writableEnded)
  await nextTurn()
  t.ok(first.writableEnded && second.writableEnded)
})

t.test('a response to a request that is still arriving ends at once', async t => {
  const [res] = (await openResponses(t, unfinished)) as [ServerResponse]
  endInTurn(res, 'refused')
  t.ok(res.writableEnded)
})

t.test('a response whose client has left is not ended', async t => {
  const [res, other] = (await openResponses(t, whole, whole)) as [ServerResponse, ServerResponse]
  endInTurn(res, 'one')
  endInTurn(other, 'two')
  res.destroy()
  await nextTurn()
  t.notOk(res.writableEnded)
  t.ok(other.writableEnded)
})
