import type { Model } from '../../src/index.ts'
import type { Reaction } from './upstream.ts'

// Vendors of imported configurations: one server, with the vendor's host as the first part of the path.

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const tokens = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const answers: readonly (readonly [end: RegExp, answer: object])[] = [
  [/\/token$/, { access_token: 'a-token', expires_in: 3600, token_type: 'Bearer' }],
  [
    /chat\/completions$/,
    {
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: tokens,
    },
  ],
  [
    /messages$|rawPredict$/,
    {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    },
  ],
  [
    /generateContent$/,
    {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    },
  ],
  [
    /embeddings$/,
    {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    },
  ],
  [/:embedContent$/, { embedding: { values: [0] } }],
  [/:batchEmbedContents$/, { embeddings: [{ values: [0] }, { values: [1] }] }],
  [/images\/generations$/, { created: 1, data: [{ b64_json: picture }] }],
  [/text-to-speech\/[^/]+$|audio\/speech$/, {}],
  [/speech-to-text$/, { text: 'Hi', language_code: 'eng', words: [], audio_duration_secs: 2 }],
  [/transcriptions$/, { text: 'Hi', duration: 2 }],
  [/moderations$/, { id: 'mod', results: [{ flagged: false }] }],
  [/rerank$/, { results: [{ index: 0, relevance_score: 1 }], meta: { billed_units: { search_units: 1 } } }],
]

/** Answers in the format of the path, if `isPlace` accepts the path including its host; 404 otherwise. */
export const vendorAt =
  (isPlace: (path: string) => boolean): Reaction =>
  (res, { url }) => {
    const path = decodeURIComponent(url.replace(/\?.*$/, ''))
    const [, answer] = answers.find(([end]) => end.test(path)) ?? []
    const isKnown = path.endsWith('/token') || isPlace(path)
    const found = isKnown ? answer : undefined
    res.writeHead(isKnown ? 200 : 404, {
      'content-type': /\/(?:audio\/speech|text-to-speech\/\w+)$/.test(path) ? 'audio/mpeg' : 'application/json',
    })
    res.end(JSON.stringify(found ?? { error: { message: `there is nothing at ${path}` } }))
  }

/** The configuration with every vendor at one server, including vendors whose address is a variable. */
export function movedTo(url: string, text: string): string {
  return text
    .replaceAll(/url: "https?:\/\/([^/"\s,}]+)/g, `url: "${url}/$1`)
    .replaceAll(/url: "\$\{\w+:-https:\/\/([^/"}]+)\}/g, `url: "${url}/$1`)
    .replace(
      /^ {2}default: \{(.*)\}$/m,
      (_, own: string) => `  default: { ${[own.trim(), 'rpm: 6000'].filter(one => one !== '').join(', ')} }`,
    )
}

/** The environment variables of the configuration: a key for each name. */
export function keysOf(text: string): Record<string, string> {
  const variables = [...text.matchAll(/\$\{([A-Z_0-9]+)/g)].map(([, one = '']) => one)
  return Object.fromEntries(variables.filter(one => !one.startsWith('TOLLGATE_')).map(one => [one, `key-of-${one}`]))
}

type Asked = readonly [path: string, body: object | FormData]

/** A request in the model's own format, and one in the format that all clients of the other gateway use. */
export function requestsOf(entry: Model): readonly Asked[] {
  const { name: model, accepts } = entry
  const talk: Asked = ['/v1/chat/completions', { model, messages }]
  const embed: Asked = ['/v1/embeddings', { model, input: 'Hello' }]
  const speak: Asked = ['/v1/audio/speech', { model, input: 'Hello', voice: 'alloy' }]
  return [
    requestOf(entry),
    ...(accepts?.has('chat') ? [talk] : []),
    ...(accepts?.has('embeddings') ? [embed] : []),
    ...(accepts?.has('audio.speech') ? [speak] : []),
    ...(accepts?.has('audio.transcribe') ? [recordingOf('/v1/audio/transcriptions', { model })] : []),
  ]
}

/** Sends it with a key of the gateway. */
export function ask(url: string, key: string, [path, body]: Asked): Promise<Response> {
  const isForm = body instanceof FormData
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  })
}

export const messages = [{ role: 'user', content: 'Hello' }]

/** The client request for each family. */
function requestOf({ name, family }: Model): Asked {
  if (family.name.startsWith('messages')) return ['/v1/messages', { model: name, max_tokens: 9, messages }]
  if (family.name === 'generative')
    return [
      `/v1beta/models/${encodeURIComponent(name)}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    ]
  if (family.name === 'generative-embedding')
    return [`/v1beta/models/${encodeURIComponent(name)}:embedContent`, { content: { parts: [{ text: 'Hello' }] } }]
  if (family.name === 'embedding') return ['/v1/embeddings', { model: name, input: 'Hello' }]
  if (family.name === 'speech') return ['/v1/audio/speech', { model: name, input: 'Hello' }]
  if (family.name === 'text-to-speech')
    return ['/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM', { model_id: name, text: 'Hello' }]
  if (family.name === 'image') return ['/v1/images/generations', { model: name, prompt: 'Hello' }]
  if (family.name === 'rerank') return ['/v1/rerank', { model: name, query: 'a', documents: ['b'] }]
  if (family.name === 'moderation') return ['/v1/moderations', { model: name, input: 'Hello' }]
  if (family.name === 'speech-to-text') return recordingOf('/v1/speech-to-text', { model_id: name })
  if (family.name === 'transcription') return recordingOf('/v1/audio/transcriptions', { model: name })
  return ['/v1/chat/completions', { model: name, messages }]
}

function recordingOf(path: string, fields: { readonly [name: string]: string }): Asked {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new Blob(['RIFF']), 'a.wav')
  return [path, form]
}
