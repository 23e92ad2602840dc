import type { Style } from './styles.ts'

/** A family for imported models, and the routes that lead to it, as YAML. */
export type FamilyText = {
  readonly family: string
  readonly routes: readonly string[]
  /** Families whose formats its models accept too, because the other gateways translate them. */
  readonly accepts?: readonly { readonly format: string; readonly from: string }[]
}

const chatFormat = { format: 'chat', from: 'chat' }
const responsesFormat = { format: 'responses', from: 'chat' }
const messagesFormat = { format: 'messages', from: 'messages' }
const embeddingsFormat = { format: 'embeddings', from: 'embedding' }
const transcriptFormat = { format: 'audio.transcribe', from: 'transcription' }
const speechFormat = { format: 'audio.speech', from: 'speech' }

const googleModels = '{ match: [GET /v1beta/models], operation: models.list, dialect: google, serve: models }'

const post = (paths: string, rest: string): string => `{ match: POST ${paths}, ${rest} }`

/** IDs of voices, by their names in LiteLLM. */
const voices = [
  'alloy: 21m00Tcm4TlvDq8ikWAM',
  'amber: 5Q0t7uMcjvnagumLfvZi',
  'ash: AZnzlk1XvdvUeBnXmlld',
  'august: D38z5RcWu1voky8WS1ja',
  'blue: 2EiwWnXFnvU5JabPnv8n',
  'coral: 9BWtsMINqrJLrRacOk9x',
  'lily: EXAVITQu4vr4xnSDxMaL',
  'onyx: 29vD33N1CtxCmqQRPOHJ',
  'sage: CwhRBWXzGAHq8TQ4Fs17',
  'verse: CYw3kZ02Hs0563khs1Fj',
]

/** Tools that upstreams run for agents: none of them creates images or calls another model. */
const vendorTools = {
  chat: 'vendor_tools: [web_search, "web_search_*", tool_search]',
  messages: 'vendor_tools: ["web_search_*", "web_fetch_*", "tool_search_tool_*"]',
  generative: 'vendor_tools: [googleSearch, google_search, urlContext, url_context]',
}

/** Headers that known agents send and read: the same as in the shipped `gateway.yaml`. */
const agentHeaders = {
  chat: `forward_headers: [session-id, thread-id, conversation-id, x-client-request-id, "x-codex-*", x-openai-internal-codex-responses-lite, x-openai-subagent, originator]
    reply_headers: [x-codex-turn-state, x-models-etag, x-reasoning-included, openai-model]
    affinity: { fields: [prompt_cache_key], headers: [session-id] }`,
  messages: `affinity: { fields: [metadata.user_id], headers: [x-claude-code-session-id] }
    forward_headers: [x-app, x-claude-code-session-id, "anthropic-dangerous-*"]`,
  generative: 'forward_headers: [x-goog-api-client]',
}

export const familyTexts: { readonly [name: string]: FamilyText } = {
  chat: {
    family: `streams: [chat, responses]
    forward: { chat: { all: true }, responses: { all: true, except: [background] } }
    ${vendorTools.chat}
    ${agentHeaders.chat}
    token-usage: { unpriced: refuse }`,
    accepts: [messagesFormat],
    routes: [
      post('/v1/chat/completions', 'operation: chat, dialect: openai'),
      post('/v1/responses', 'operation: responses, dialect: openai'),
    ],
  },
  messages: {
    family: `streams: [messages]
    forward: { messages: { all: true }, messages.count: { all: true } }
    ${vendorTools.messages}
    ${agentHeaders.messages}
    token-usage: { unpriced: refuse, free_operations: [messages.count] }
    format-bridge: { reasoning: budget }`,
    accepts: [chatFormat, responsesFormat],
    routes: [
      post('/v1/messages', 'operation: messages, dialect: anthropic'),
      post('/v1/messages/count_tokens', 'operation: messages.count, dialect: anthropic'),
    ],
  },
  // Only the path contains the model, and the body contains the version of the API.
  'messages-vertex': {
    family: `streams: [messages]
    forward: { messages: { all: true, except: [model] }, messages.count: { all: true, except: [anthropic_version] } }
    defaults: { anthropic_version: vertex-2023-10-16 }
    ${vendorTools.messages}
    ${agentHeaders.messages}
    token-usage: { unpriced: refuse, free_operations: [messages.count] }
    format-bridge: { reasoning: budget }`,
    accepts: [chatFormat, responsesFormat],
    routes: [
      post('/v1/messages', 'operation: messages, dialect: anthropic'),
      post('/v1/messages/count_tokens', 'operation: messages.count, dialect: anthropic'),
    ],
  },
  generative: {
    family: `streams: [generate]
    forward: { generate: { all: true }, generate.count: { all: true } }
    ${vendorTools.generative}
    ${agentHeaders.generative}
    token-usage: { unpriced: refuse, free_operations: [generate.count] }
    format-bridge: { reasoning: budget }`,
    accepts: [chatFormat, responsesFormat, messagesFormat],
    routes: [
      `{ match: ["POST /v1beta/models/{model}:generateContent", "/models/{model}:generateContent"], operation: generate, dialect: google, stream: never }`,
      `{ match: ["POST /v1beta/models/{model}:streamGenerateContent", "/models/{model}:streamGenerateContent"], operation: generate, dialect: google, stream: always }`,
      `{ match: ["POST /v1beta/models/{model}:countTokens", "/models/{model}:countTokens"], operation: generate.count, dialect: google }`,
      googleModels,
    ],
  },
  'generative-embedding': {
    family: `forward: { generate.embed: { all: true } }
    token-usage: {}`,
    accepts: [embeddingsFormat],
    routes: [
      `{ match: ["POST /v1beta/models/{model}:embedContent", "/models/{model}:embedContent"], operation: generate.embed, dialect: google }`,
      `{ match: ["POST /v1beta/models/{model}:batchEmbedContents", "/models/{model}:batchEmbedContents"], operation: generate.embed, dialect: google }`,
      googleModels,
    ],
  },
  embedding: {
    family: `forward: { embeddings: { all: true } }
    token-usage: {}`,
    routes: [post('/v1/embeddings', 'operation: embeddings, dialect: openai')],
  },
  speech: {
    family: `forward: { audio.speech: { all: true } }
    token-usage: { count_characters_of: input }`,
    routes: [post('/v1/audio/speech', 'operation: audio.speech, dialect: openai')],
  },
  'text-to-speech': {
    family: `forward: { text-to-speech: { all: true } }
    token-usage: { count_characters_of: text }
    format-bridge: { voices: { ${voices.join(', ')} } }`,
    accepts: [speechFormat],
    routes: [
      `{ match: "POST /v1/text-to-speech/{voice}", operation: text-to-speech, dialect: elevenlabs, stream: never }`,
      `{ match: "POST /v1/text-to-speech/{voice}/stream", operation: text-to-speech, dialect: elevenlabs, stream: never }`,
    ],
  },
  // The length of the file does not determine the price of links, callbacks and channels; the others cost more.
  'speech-to-text': {
    family: `forward: { speech-to-text: { all: true, except: [cloud_storage_url, source_url, webhook, webhook_id, webhook_metadata, use_multi_channel, keyterms, entity_detection, entity_redaction, entity_redaction_mode, detect_speaker_roles] } }
    multipart-rewrite: { files: { file: { keep: first } } }
    token-usage: {}`,
    accepts: [transcriptFormat],
    routes: [post('/v1/speech-to-text', 'operation: speech-to-text, dialect: elevenlabs, body: form, stream: never')],
  },
  transcription: {
    family: `streams: [audio.transcribe]
    forward: { audio.transcribe: { all: true } }
    multipart-rewrite: { files: { file: { keep: first } } }
    token-usage: {}`,
    routes: [post('/v1/audio/transcriptions', 'operation: audio.transcribe, dialect: openai, body: form')],
  },
  rerank: {
    family: `forward: { rerank: { all: true } }
    token-usage: {}`,
    routes: [
      post('/v1/rerank', 'operation: rerank, dialect: cohere'),
      post('/v2/rerank', 'operation: rerank, dialect: cohere'),
    ],
  },
  moderation: {
    family: `forward: { moderations: { all: true } }`,
    routes: [post('/v1/moderations', 'operation: moderations, dialect: openai')],
  },
  // Every image costs the same, as in the imported file; another tier needs one more line.
  image: {
    family: `streams: [image.generate, image.edit]
    forward: { image.generate: { all: true }, image.edit: { all: true } }
    multipart-rewrite: { files: { image: { send_as: { one: image, many: "image[]" } }, mask: { keep: first } } }
    image-tier-billing: { tiers: [{ tier: each }], tier_from: [output], otherwise: each }`,
    routes: [
      post('/v1/images/generations', 'operation: image.generate, dialect: openai, reuse: false'),
      post('/v1/images/edits', 'operation: image.edit, dialect: openai, body: form, reuse: false'),
    ],
  },
}

/** Families whose models are priced by their input alone. */
export const embeddingFamilies: ReadonlySet<string> = new Set(['embedding', 'generative-embedding'])

/** The family whose images are charged one by one: another model cannot answer for one of them. */
export const imageFamily = 'image'

const families: { readonly [mode: string]: string } = {
  embedding: 'embedding',
  image_generation: 'image',
  image_edit: 'image',
  audio_speech: 'speech',
  audio_transcription: 'transcription',
  rerank: 'rerank',
  responses: 'chat',
  chat: 'chat',
  moderation: 'moderation',
}

/** The modes that have a family, by their names in LiteLLM. */
export const knownModes: readonly string[] = Object.keys(families)

/**
 * The family of a model with a mode; undefined if there is none. Bodies are not translated from one style to another.
 */
export function familyOf(mode: string, style: Style): string | undefined {
  const family = Object.hasOwn(families, mode) ? families[mode] : undefined
  if (style === 'anthropic') return family === 'chat' ? 'messages' : undefined
  if (style === 'google')
    return family === 'chat' ? 'generative' : family === 'embedding' ? 'generative-embedding' : undefined
  if (style === 'cohere') return family === 'rerank' ? 'rerank' : undefined
  if (style === 'elevenlabs')
    return family === 'speech' ? 'text-to-speech' : family === 'transcription' ? 'speech-to-text' : undefined
  return family === 'rerank' ? undefined : family
}

/** Families whose API formats the models of a family accept, its own included. */
export function formatsOf(family: string): readonly string[] {
  return [family, ...(familyTexts[family]?.accepts ?? []).map(({ from }) => from)]
}

/**
 * The paths by operation for an upstream whose address ends with its own form of `/v1`; undefined for other families.
 */
export function bareCalls(family: string): string | undefined {
  return bare[family]
}

const bare: { readonly [family: string]: string } = {
  chat: '{ chat: /chat/completions, responses: /responses }',
  embedding: '{ embeddings: /embeddings }',
  speech: '{ audio.speech: /audio/speech }',
  transcription: '{ audio.transcribe: /audio/transcriptions }',
  image: '{ image.generate: /images/generations, image.edit: /images/edits }',
  moderation: '{ moderations: /moderations }',
}
