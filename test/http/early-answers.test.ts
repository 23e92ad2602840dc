import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { start } from '../harness/start.ts'

const megabyte = 1_048_576
const body = Buffer.alloc(8 * megabyte, 97)

/** Sends a complete request before it reads anything, like a proxy that has buffered it, and then reads. */
async function sendAll(url: string, head: string, after = ''): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error))
  failed.catch(() => undefined)
  socket.pause()
  const sent = new Promise<void>(resolve => void socket.write(`${head}\r\n`, () => socket.write(body, () => resolve())))
  await Promise.race([sent, failed])
  if (after !== '') socket.write(after)
  let text = ''
  socket.on('data', chunk => (text += String(chunk))).resume()
  await Promise.race([once(socket, 'close'), failed])
  return text
}

const length = `content-length: ${body.length}\r\n`
const versions = {
  'HTTP/1.0': 'HTTP/1.0\r\nhost: a\r\n',
  'HTTP/1.1 that closes': 'HTTP/1.1\r\nhost: a\r\nconnection: close\r\n',
}

for (const [name, version] of Object.entries(versions)) {
  t.test(`a refusal reaches a client of ${name} that sends its whole body first`, async t => {
    const { url } = await start(t, { upstreams: [] })
    const json = 'content-type: application/json\r\n'
    t.match(
      await sendAll(url, `POST /v1/chat/completions ${version}${json}${length}`),
      /^HTTP\/1\.1 401 [^]*"invalid_api_key"/,
    )
    t.match(await sendAll(url, `POST /v1/nothing ${version}${json}${length}`), /^HTTP\/1\.1 404 [^]*"not_found"/)
    const own = 'x-tollgate: 1\r\norigin: http://a\r\n'
    t.match(await sendAll(url, `POST /api/session ${version}${json}${own}${length}`), /^HTTP\/1\.1 413 [^]*"too_large"/)
    t.match(await sendAll(url, `POST /api/session ${version}${json}${length}`), /^HTTP\/1\.1 403 [^]*"cross_site"/)
  })
}

t.test('bytes after the body of a request whose answer closed the connection are ignored', async t => {
  const { url, key, upstream, settled } = await start(t, { upstreams: ['text'] })
  const chat = JSON.stringify({ model: 'sim-chat', messages: [{ role: 'user', content: 'hello' }] })
  const second = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${chat.length}\r\n\r\n${chat}`
  const text = await sendAll(
    url,
    `POST /v1/nothing ${versions['HTTP/1.1 that closes']}content-type: application/json\r\n${length}`,
    second,
  )
  t.equal(text.split('HTTP/1.1 ').length, 2, 'one answer')
  await settled()
  t.equal(upstream.received.length, 0)
})
