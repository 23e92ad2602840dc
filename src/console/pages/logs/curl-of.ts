import type { LogRecord } from '../../api/shapes.ts'

const paths: { readonly [operation: string]: string } = {
  'image.generate': '/v1/images/generations',
  'image.edit': '/v1/images/edits',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  'audio.speech': '/v1/audio/speech',
  'audio.transcribe': '/v1/audio/transcriptions',
  messages: '/v1/messages',
  'messages.count': '/v1/messages/count_tokens',
  rerank: '/v1/rerank',
}
const forms = new Set(['image.edit', 'audio.transcribe'])
const files = new Set(['image', 'image[]', 'mask', 'file'])

/** The request again, as a command. What was sent is not kept, so all but the model, size and quality is to be filled in. */
export function curlOf(record: LogRecord, baseUrl: string): string {
  const known: { readonly [field: string]: string | null | undefined } = {
    model: record.model,
    size: record.billing?.size,
    quality: record.billing?.quality,
  }
  const path =
    paths[record.operation] ?? `/v1beta/models/${encodeURIComponent(record.model ?? 'MODEL')}:generateContent`
  const names = [...new Set([...record.forwarded, ...record.dropped])]
  const value = (name: string) => known[name] ?? `<${name}>`
  const body = forms.has(record.operation)
    ? names.map(name => `-F ${quoted(`${name}=${files.has(name) ? `@<${name}>` : value(name)}`)}`)
    : [
        "-H 'Content-Type: application/json'",
        `-d ${quoted(JSON.stringify(Object.fromEntries(names.map(name => [name, value(name)]))))}`,
      ]
  return [`curl ${baseUrl}${path}`, "-H 'Authorization: Bearer <API_KEY>'", ...body].join(' \\\n  ')
}

/** One word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
