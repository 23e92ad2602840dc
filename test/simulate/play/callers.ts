import { form } from '../../harness/forms.ts'
import { png } from '../../harness/pictures.ts'
import { WireReader } from '../world/http-wire.ts'
import { Random } from '../world/random.ts'
import type { SimSocket } from '../world/sockets.ts'
import type { World } from '../world/world.ts'
import type { Ask, Wish } from './asks.ts'

const paths = {
  image: '/v1/images/generations',
  edit: '/v1/images/edits',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
} as const

/** The bytes of a request; `name` is what the upstream knows it by. */
function writeRequest(wish: Wish, name: number, secret: string): Buffer {
  const { body, type } = writeBody(wish, name)
  const idempotency = wish.idempotency === undefined ? '' : `idempotency-key: ${wish.idempotency}\r\n`
  const head = [
    `POST ${paths[wish.operation]} HTTP/1.1`,
    'host: gateway.sim',
    `authorization: Bearer ${secret}`,
    'connection: close',
    `content-type: ${type}`,
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n${idempotency}\r\n`), body])
}

function writeBody(wish: Wish, name: number): { readonly body: Buffer; readonly type: string } {
  const { operation, model, n, size, stream, render, includeUsage } = wish
  const text = `ask ${name} a boat`
  const given = { ...(stream && { stream }), ...(render && { response_format: render }), ...(size && { size }) }
  if (operation === 'edit') {
    const random = new Random(wish.seed, 'files')
    const files = Object.fromEntries(
      wish.files.map((bytes, i) => [`image[${i}]`, Buffer.concat([png(8, 8), random.bytes(bytes)])]),
    )
    const { body, contentType } = form({ model, prompt: text, n, ...given, ...files })
    return { body, type: contentType }
  }
  const fields = {
    image: { model, prompt: text, n, ...given },
    chat: {
      model,
      messages: [{ role: 'user', content: text }],
      max_tokens: 3_100,
      ...(stream && { stream }),
      ...(stream && includeUsage && { stream_options: { include_usage: true } }),
    },
    responses: {
      model,
      input: text,
      tools: [{ type: 'image_generation' }],
      max_tool_calls: 2,
      max_output_tokens: 3_100,
      ...(stream && { stream }),
    },
    embeddings: { model, input: text },
  }[operation]
  return { body: Buffer.from(JSON.stringify(fields)), type: 'application/json' }
}

/** Sends a request and keeps what comes of it, until somebody ends it. */
export function send(world: World, ask: Ask, socket: SimSocket, secret: string): void {
  const { time } = world
  const reader = new WireReader('answers')
  const keep = (): void => {
    ask.answer = reader.last
    ask.broken = reader.broken
    ask.informational = reader.informational
  }
  const end = (): void => {
    keep()
    ask.endedAt ??= time.tick
  }
  socket.on('error', end)
  socket.on('close', end)
  socket.on('data', (bytes: Buffer) => {
    reader.push(bytes)
    if (reader.last?.whole) end()
  })
  socket.on('end', () => {
    reader.end()
    end()
    socket.end()
  })
  socket.write(writeRequest(ask.wish, ask.first.no, secret))
  const { leaves } = ask.wish
  if (leaves === undefined) return
  const leave = (): void => {
    if (ask.endedAt !== undefined) return
    world.mark('fault: caller leaves')
    ask.left = true
    socket.destroy(new Error('gone'))
  }
  time.after(leaves, 'caller leaves', leave, null)
}
