import {
  type Answer,
  type AnswerUsage,
  type CallPart,
  type Citation,
  compact,
  dataUrl,
  type JsonObject,
  type MediaPart,
  packSeal,
  type Part,
  type Seal,
  type Stop,
  type WriteFacts,
} from '../neutral/index.ts'
import { writeLogprob } from '../openai/logprobs.ts'

export function writeAnswer(answer: Answer, { id, created, model }: WriteFacts): JsonObject {
  const { parts, stop, usage, serviceTier } = answer
  const logprobs = parts.flatMap(part => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const choice = {
    index: 0,
    message: writeMessage(parts),
    logprobs: logprobs.length > 0 ? { content: logprobs.map(writeLogprob), refusal: null } : null,
    finish_reason: writeStop(stop, parts.some(isRefusal)),
  }
  return compact({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created,
    model,
    choices: [choice],
    usage: usage && writeUsage(usage),
    service_tier: serviceTier,
  })
}

const isRefusal = ({ kind }: Part): boolean => kind === 'refusal'

function writeMessage(parts: readonly Part[]): JsonObject {
  const text = parts.map(part => (part.kind === 'text' ? part.text : '')).join('')
  const refusal = parts.map(part => (part.kind === 'refusal' ? part.text : '')).join('')
  const thoughts = parts.filter(part => part.kind === 'thought')
  const thought = thoughts.map(part => part.text).join('')
  const blocks = thoughts.map(part => writeThought(part.text, part.seal))
  const calls = parts.filter(part => part.kind === 'call')
  const images = parts.flatMap(part => (part.kind === 'media' ? writeImage(part) : []))
  const annotations = writeAllCitations(parts)
  return compact({
    role: 'assistant',
    content: text === '' ? null : text,
    refusal: refusal === '' ? null : refusal,
    reasoning_content: thought === '' ? undefined : thought,
    thinking_blocks: blocks.length > 0 ? blocks : undefined,
    annotations: annotations.length > 0 ? annotations : undefined,
    images: images.length > 0 ? images : undefined,
    tool_calls: calls.length > 0 ? calls.map(writeCall) : undefined,
  })
}

/** The format has no field for a seal. Clients that return this member preserve the thought. */
export function writeThought(text: string, seal: Seal | undefined): JsonObject {
  if (text === '' && seal) return { type: 'redacted_thinking', data: packSeal(seal) }
  return compact({ type: 'thinking', thinking: text, signature: seal && packSeal(seal) })
}

export function writeImage({ mime, source }: MediaPart): readonly JsonObject[] {
  if (source.kind === 'link') return [{ type: 'image_url', image_url: { url: source.url } }]
  if (source.kind !== 'bytes') return []
  return [{ type: 'image_url', image_url: { url: dataUrl(mime ?? 'image/png', source.base64) } }]
}

function writeCall({ id, name, arguments: text, freeform, seal }: CallPart): JsonObject {
  const sealed = seal ? sealOfCall(seal) : {}
  if (freeform) return { id, type: 'custom', custom: { name, input: text }, ...sealed }
  return { id, type: 'function', function: { name, arguments: text === '' ? '{}' : text }, ...sealed }
}

/** The member of one vendor's own chat completions, which clients return with the call. */
export function sealOfCall(seal: Seal): JsonObject {
  return { extra_content: { google: { thought_signature: packSeal(seal) } } }
}

/** Offsets count from the start of the message, which is one text here. */
function writeAllCitations(parts: readonly Part[]): readonly JsonObject[] {
  let from = 0
  return parts.flatMap(part => {
    if (part.kind !== 'text') return []
    const start = from
    from += part.text.length
    return (part.citations ?? []).flatMap(citation => writeCitation(citation, start, part.text.length))
  })
}

/** The format supports only citations of links. */
export function writeCitation(
  { url, title, from = 0, to }: Citation,
  start: number,
  length: number,
): readonly JsonObject[] {
  if (url === undefined) return []
  const place = { start_index: start + from, end_index: start + (to ?? length) }
  return [{ type: 'url_citation', url_citation: { url, title: title ?? url, ...place } }]
}

export function writeStop({ why }: Stop, hasRefusal: boolean): string {
  if (why === 'length' || why === 'context') return 'length'
  if (why === 'calls') return 'tool_calls'
  // A refusal in words is an ordinary end; a refusal by a filter has its own finish reason.
  return why === 'refused' && !hasRefusal ? 'content_filter' : 'stop'
}

export function writeUsage(usage: AnswerUsage): JsonObject {
  const { input, output, cacheRead, cacheWrite5m = 0, cacheWrite1h = 0, inputAudio, reasoning, outputAudio } = usage
  const written = cacheWrite5m + cacheWrite1h
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: compact({
      cached_tokens: cacheRead ?? 0,
      cache_write_tokens: written > 0 ? written : undefined,
      audio_tokens: inputAudio,
    }),
    completion_tokens_details: compact({ reasoning_tokens: reasoning ?? 0, audio_tokens: outputAudio }),
  }
}
