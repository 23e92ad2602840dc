import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { chatAnswer, chatEvents, imageAnswer } from './bodies.ts'

// The fake upstream, in its own process so that its CPU is not counted. It discards request bodies and answers from
// buffers created once: chat and its stream, a large image answer, a small one for edits.

const megabyte = 1024 * 1024
const headBytes = 4096
const chat = chatAnswer()
const events = chatEvents(100)
const bigAnswer = imageAnswer(4, 4 * megabyte)
const smallAnswer = imageAnswer(1, 2048)

function answerJson(res: ServerResponse, body: Buffer): void {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  res.end(body)
}

/** One event per turn: tokens arrive separately, as from a model, but as fast as the gateway accepts them. */
function answerEvents(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  let next = 0
  const step = () => {
    if (res.destroyed) return
    res.write(events[next++])
    if (next < events.length) setImmediate(step)
    else res.end()
  }
  step()
}

function answer(req: IncomingMessage, res: ServerResponse, head: string): void {
  if (req.url?.endsWith('/images/generations')) answerJson(res, bigAnswer)
  else if (req.url?.endsWith('/images/edits')) answerJson(res, smallAnswer)
  else if (/"stream": ?true/.test(head)) answerEvents(res)
  else answerJson(res, chat)
}

const server = createServer((req, res) => {
  let head = ''
  req.on('data', (chunk: Buffer) => {
    // A gateway that serializes the body itself may put `stream` last.
    if (head === '') head = chunk.toString('latin1', 0, headBytes)
  })
  req.on('end', () => answer(req, res, head))
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' && address ? address.port : 0}\n`)
})
