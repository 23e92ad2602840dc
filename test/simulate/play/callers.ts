import { form } from '../../harness/forms.ts'
import { imageTools } from '../../cases/client-tools.ts'
import { png } from '../../harness/pictures.ts'
import { Random } from '../world/random.ts'
import type { Wish } from './asks.ts'

const paths = {
  image: '/v1/images/generations',
  edit: '/v1/images/edits',
  chat: '/v1/chat/completions',
  sketch: '/v1/chat/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
} as const

/** Tools that may be added to the fields of a chat. */
const declarations = imageTools.filter(text => !text.startsWith('{"messages"'))

/** The tool as JSON text with which a caller of a text model tries to get a picture; undefined for most. */
export function toolOf({ operation, seed }: Pick<Wish, 'operation' | 'seed'>): string | undefined {
  return operation === 'chat' && seed % 8 === 0 ? declarations[(seed / 8) % declarations.length] : undefined
}

/** The bytes of a request; `name` identifies it to the upstream. */
export function writeRequest(wish: Wish, name: number, secret: string, endUser?: string): Buffer {
  const { body, type } = writeBody(wish, name)
  const idempotency = wish.idempotency === undefined ? '' : `idempotency-key: ${wish.idempotency}\r\n`
  const head = [
    `POST ${paths[wish.operation]} HTTP/1.1`,
    'host: gateway.sim',
    `authorization: Bearer ${secret}`,
    `connection: ${wish.connection === 'close' ? 'close' : 'keep-alive'}`,
    `content-type: ${type}`,
    `content-length: ${body.length}`,
    ...(endUser === undefined ? [] : [`x-end-user: ${endUser}`]),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n${idempotency}\r\n`), body])
}

function writeBody(wish: Wish, name: number): { readonly body: Buffer; readonly type: string } {
  const { operation, model, n, size, stream, render, includeUsage } = wish
  const text = `ask ${name} a boat`
  // If a family also reads the number elsewhere, the largest number counts.
  const counts = model === 'counted' && n > 1 ? { n: 1, options: { max_images: n } } : { n }
  const given = { ...(stream && { stream }), ...(render && { response_format: render }), ...(size && { size }) }
  if (operation === 'edit') {
    const random = new Random(wish.seed, 'files')
    const files = Object.fromEntries(
      wish.files.map((bytes, i) => [`image[${i}]`, Buffer.concat([png(8, 8), random.bytes(bytes)])]),
    )
    const { body, contentType } = form({ model, prompt: text, n, ...given, ...files })
    return { body, type: contentType }
  }
  const chat = {
    model,
    messages: [{ role: 'user', content: text }],
    max_tokens: 3_100,
    ...(stream && { stream }),
    ...(stream && includeUsage && { stream_options: { include_usage: true } }),
  }
  const fields = {
    image: { model, prompt: text, ...counts, ...given },
    chat,
    sketch: chat,
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
  const tool = toolOf(wish)
  const json = JSON.stringify(fields)
  // Assembled as text: some tools repeat a member.
  const body = tool === undefined ? json : `${tool.slice(0, -1)},${json.slice(1)}`
  return { body: Buffer.from(body), type: 'application/json' }
}
