import { randomBytes } from 'node:crypto'
import { conversation, pictureQuestion } from '../test/harness/real-bodies.ts'

/** A PNG up to the point where its size can be read, padded to `bytes` with noise. */
export function pictureBytes(width: number, height: number, bytes: number): Buffer {
  const picture = randomBytes(bytes)
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(picture)
  picture.writeUInt32BE(width, 16)
  picture.writeUInt32BE(height, 20)
  Buffer.from('0802000000', 'hex').copy(picture, 24)
  return picture
}

/** An image answer of `count` pictures of `bytes` each, as base64. */
export function imageAnswer(count: number, bytes: number): Buffer {
  const data = Array.from({ length: count }, () => ({
    b64_json: pictureBytes(1254, 1254, bytes).toString('base64'),
  }))
  return Buffer.from(JSON.stringify({ created: 1_795_000_000, data }))
}

/** A typical conversation of 43 KiB: code, prose, Chinese, schemas of tools. */
export function conversationRequest(model: string): Buffer {
  return conversation({ model, bytes: 43 * 1024 })
}

/** A question about a picture of 1 MB, sent as a data URL. */
export function pictureRequest(model: string): Buffer {
  return pictureQuestion({ model, bytes: 750_000 })
}

/** A chat request of about 1 KiB. */
export function chatRequest(model: string, stream: boolean): string {
  const content = 'Tell me about the harbour at night. '.repeat(26)
  return JSON.stringify({ model, stream, messages: [{ role: 'user', content }] })
}

/** The same with a limit: a request of chat completions as well as of messages. */
export function limitedRequest(model: string): string {
  return JSON.stringify({ ...(JSON.parse(chatRequest(model, false)) as object), max_tokens: 500 })
}

/** A chat answer of about 1 KiB. */
export function chatAnswer(): Buffer {
  const content = 'The harbour is quiet, and the lamps stand in the water. '.repeat(13)
  return Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion',
      created: 1_795_000_000,
      model: 'bench-chat',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 230, completion_tokens: 180, total_tokens: 410 },
    }),
  )
}

/** The events of a chat stream, one token each, then usage and the end mark. */
export function chatEvents(tokens: number): readonly Buffer[] {
  const event = (body: object) => Buffer.from(`data: ${JSON.stringify(body)}\n\n`)
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_795_000_000, model: 'bench-chat' }
  return [
    ...Array.from({ length: tokens }, (_, i) =>
      event({ ...head, choices: [{ index: 0, delta: { content: ` word${i}` }, finish_reason: null }] }),
    ),
    event({
      ...head,
      choices: [],
      usage: { prompt_tokens: 230, completion_tokens: tokens, total_tokens: 230 + tokens },
    }),
    Buffer.from('data: [DONE]\n\n'),
  ]
}

/** A form of an image edit with one reference image of `bytes`. */
export function editForm(model: string, bytes: number): { readonly contentType: string; readonly body: Buffer } {
  const boundary = 'tollgate-bench-boundary'
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const body = Buffer.concat([
    Buffer.from(field('model', model) + field('prompt', 'Put the boat into the harbour')),
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="boat.png"\r\nContent-Type: image/png\r\n\r\n`,
    ),
    pictureBytes(2048, 2048, bytes),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  return { contentType: `multipart/form-data; boundary=${boundary}`, body }
}
