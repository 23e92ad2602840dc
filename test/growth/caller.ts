import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { boundary, eventStreams, forms, type Generator, jsonBodies } from './bodies.ts'
import { pictureLists, vendorAnswers } from './described-bodies.ts'
import { answers, requests } from './exchanges.ts'

// The client and the upstream of the gateway, in a thread of their own, so that the turns of the gateway's thread are
// its own.

export type Asked = {
  readonly url: string
  readonly key: string
  readonly path: string
  /** Name of an entry of `jsonBodies`, `forms` or `requests`. */
  readonly body: string
  readonly bytes: number
  /** Name of the upstream's answer; a few bytes of JSON when absent. */
  readonly answer?: string
  readonly answerBytes?: number
  /** Chunk size in bytes of the request's body; sent with Content-Length when absent. */
  readonly chunkBytes?: number
  readonly answerChunkBytes?: number
  readonly headers?: { readonly [name: string]: string }
}

export type Told = { readonly status: number; readonly bytes: number; readonly ms: number }

const short = Buffer.from('{"usage":{"prompt_tokens":1,"completion_tokens":1},"created":1,"data":[]}')
let answer: { readonly type: string; readonly body: Buffer; readonly chunkBytes: number | undefined } = {
  type: 'application/json',
  body: short,
  chunkBytes: undefined,
}

const upstream = createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    res.writeHead(200, { 'content-type': answer.type })
    if (req.url === '/submit') res.end('{"id":"poll","status":"run"}')
    else write(res, answer.body, answer.chunkBytes)
  })
})

/** Writes chunks of this size unchanged: many in one packet. */
function write(to: NodeJS.WritableStream, body: Buffer, chunkBytes: number | undefined): void {
  let at = 0
  const step = (): void => {
    for (let bytes = 0; bytes < 65_536; ) {
      if (at >= body.length) return void to.end()
      const chunk = body.subarray(at, at + (chunkBytes ?? 65_536))
      at += chunk.length
      bytes += chunk.length
      if (!to.write(chunk)) return void to.once('drain', step)
    }
    setImmediate(step)
  }
  step()
}

function bodyOf(name: string, bytes: number): Buffer {
  const make = jsonBodies[name] ?? forms[name] ?? requests[name] ?? pictureLists[name]
  if (!make) throw new Error(`no body '${name}'`)
  return make(bytes)
}

function answerOf(name: string): Generator | undefined {
  return eventStreams[name] ?? answers[name] ?? vendorAnswers[name]
}

function ask(task: Asked): Promise<Told> {
  const body = bodyOf(task.body, task.bytes)
  const made = task.answer === undefined ? short : answerOf(task.answer)?.(task.answerBytes ?? 0)
  if (!made) throw new Error(`no answer '${task.answer}'`)
  const isStream = task.answer !== undefined && (task.answer in eventStreams || task.answer.startsWith('event'))
  answer = { type: isStream ? 'text/event-stream' : 'application/json', body: made, chunkBytes: task.answerChunkBytes }
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const isForm = task.body in forms
    const headers = {
      authorization: `Bearer ${task.key}`,
      'content-type': isForm ? `multipart/form-data; boundary=${boundary}` : 'application/json',
      ...(task.chunkBytes === undefined && { 'content-length': body.length }),
      ...task.headers,
    }
    const req = request(task.url + task.path, { method: 'POST', headers }, res => {
      let text = ''
      res.on('data', (chunk: Buffer) => {
        if (text.length < 300) text += chunk.toString('latin1', 0, 300)
      })
      res.on('end', () => {
        if (res.statusCode !== 200)
          process.stderr.write(`${task.path} ${task.body}: ${res.statusCode} ${text.slice(0, 300)}\n`)
        resolve({
          status: res.statusCode ?? 0,
          bytes: Math.max(body.length, made.length),
          ms: performance.now() - began,
        })
      })
      res.on('error', () => resolve({ status: 0, bytes: body.length, ms: performance.now() - began }))
    })
    req.on('error', reject)
    write(req, body, task.chunkBytes)
  })
}

upstream.listen(0, '127.0.0.1', () => {
  parentPort?.postMessage(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, [])
})
parentPort?.on('message', (task: Asked) => void ask(task).then(result => parentPort?.postMessage(result, [])))
