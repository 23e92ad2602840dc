import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type Answer,
  AnswerFault,
  type AnswerUsage,
  asList,
  asNumber,
  asObject,
  asText,
  compact,
  type JsonObject,
  optional,
  type ParseFacts,
  type Part,
  type Problem,
  type Seal,
  type Stop,
  type TokenLogprob,
  valueAt,
} from '../neutral/index.ts'

export function parseAnswer(body: Json, facts: ParseFacts): Answer {
  const candidate = asObject(asList(valueAt(body, 'candidates'))[0])
  const blocked = asText(valueAt(body, 'promptFeedback', 'blockReason'))
  if (!candidate && blocked === undefined) throw new AnswerFault('it has no candidates')
  const parts = withLogprobs(
    asList(valueAt(candidate?.['content'], 'parts')).flatMap((part, i) => parsePart(part, `${facts.id}_${i}`, facts)),
    parseLogprobs(candidate?.['logprobsResult']),
  )
  const usage = parseUsage(valueAt(body, 'usageMetadata'))
  return {
    ...optional('id', asText(valueAt(body, 'responseId'))),
    ...optional('model', asText(valueAt(body, 'modelVersion'))),
    parts,
    stop: parseStop(candidate?.['finishReason'] ?? blocked, parts),
    ...optional('usage', usage),
  }
}

/** Converts a part of this format. A signed call gets a hidden thought before it, which other formats can represent. */
export function parsePart(value: Json, id: string, { issuer }: ParseFacts): readonly Part[] {
  const part = asObject(value) ?? {}
  const signature = asText(part['thoughtSignature'])
  const seal: Seal | undefined = signature === undefined ? undefined : { issuer, value: signature }
  const text = asText(part['text'])
  if (part['thought'] === true)
    return text || seal
      ? [{ kind: 'thought', text: text ?? '', form: text ? 'summary' : 'hidden', ...optional('seal', seal) }]
      : []
  if (text !== undefined) return text || seal ? [{ kind: 'text', text, ...optional('seal', seal) }] : []
  const call = asObject(part['functionCall'])
  const name = asText(call?.['name'])
  if (call && name !== undefined) {
    const own: Part = {
      kind: 'call',
      id: asText(call['id']) || `call_${id}`,
      name,
      arguments: JSON.stringify(call['args'] ?? {}),
    }
    return seal ? [{ kind: 'thought', text: '', form: 'hidden', seal }, own] : [own]
  }
  const base64 = asText(valueAt(part, 'inlineData', 'data'))
  const mime = asText(valueAt(part, 'inlineData', 'mimeType'))
  if (base64 === undefined) return []
  const media = mime?.startsWith('audio/') ? 'audio' : mime?.startsWith('video/') ? 'video' : 'image'
  return [{ kind: 'media', media, ...optional('mime', mime), source: { kind: 'bytes', base64 } }]
}

const refusals: ReadonlySet<string> = new Set([
  ...'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE MODEL_ARMOR'.split(' '),
  ...'IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION JAILBREAK'.split(' '),
])

/** Finish reasons of a failed model, mostly before its first part. */
const faults = /^(?:MALFORMED|UNEXPECTED|TOO_MANY|MISSING)_/

/** @throws AnswerFault if the model failed, because there is no answer then */
export function parseStop(reason: Json | undefined, parts: readonly Pick<Part, 'kind'>[]): Stop {
  const raw = asText(reason)
  const named = optional('raw', raw)
  if (raw === 'MAX_TOKENS') return { why: 'length', ...named }
  if (raw === undefined || raw === 'STOP' || raw === 'FINISH_REASON_UNSPECIFIED')
    return { why: parts.some(part => part.kind === 'call') ? 'calls' : 'end', ...named }
  if (refusals.has(raw) || (parts.length === 0 && !faults.test(raw))) return { why: 'refused', ...named }
  throw new AnswerFault(`the model stopped with ${raw}`)
}

export function parseUsage(value: Json | undefined): AnswerUsage | undefined {
  const own = asObject(value)
  if (!own) return undefined
  const thoughts = asNumber(own['thoughtsTokenCount'])
  const tools = asNumber(own['toolUsePromptTokenCount'])
  const candidates = asNumber(own['candidatesTokenCount'])
  const input = (asNumber(own['promptTokenCount']) ?? 0) + (tools ?? 0)
  // Answers omit counts of zero, so that a missing count of the output is the rest of the total.
  const rest = Math.max(0, (asNumber(own['totalTokenCount']) ?? 0) - input)
  return compact({
    input,
    output: candidates === undefined && thoughts === undefined ? rest : (candidates ?? 0) + (thoughts ?? 0),
    cacheRead: asNumber(own['cachedContentTokenCount']),
    reasoning: thoughts,
    toolInput: tools,
    inputAudio: tokensOf(own['promptTokensDetails'], 'AUDIO'),
    inputImage: tokensOf(own['promptTokensDetails'], 'IMAGE'),
    outputAudio: tokensOf(own['candidatesTokensDetails'], 'AUDIO'),
    outputImage: tokensOf(own['candidatesTokensDetails'], 'IMAGE'),
  }) as AnswerUsage
}

function tokensOf(details: Json | undefined, modality: string): number | undefined {
  const own = asList(details).find(one => valueAt(one, 'modality') === modality)
  return asNumber(valueAt(own, 'tokenCount'))
}

export function parseLogprobs(value: Json | undefined): readonly TokenLogprob[] {
  const top = asList(valueAt(value, 'topCandidates'))
  return asList(valueAt(value, 'chosenCandidates')).map((chosen, i) => ({
    ...parseToken(chosen),
    top: asList(valueAt(top[i], 'candidates')).map(parseToken),
  }))
}

function parseToken(value: Json): { readonly token: string; readonly logprob: number } {
  return { token: asText(valueAt(value, 'token')) ?? '', logprob: asNumber(valueAt(value, 'logProbability')) ?? 0 }
}

function withLogprobs(parts: readonly Part[], logprobs: readonly TokenLogprob[]): readonly Part[] {
  const first = parts.findIndex(part => part.kind === 'text')
  return logprobs.length === 0 ? parts : parts.map((part, i) => (i === first ? ({ ...part, logprobs } as Part) : part))
}

export function parseProblem(status: number, body: Json): Problem {
  const error: JsonObject = asObject(valueAt(asList(body)[0] ?? body, 'error')) ?? {}
  const code = asNumber(error['code'])
  const delay = asList(error['details'])
    .map(detail => /^([\d.]+)s$/.exec(asText(valueAt(detail, 'retryDelay')) ?? '')?.[1])
    .find(seconds => seconds !== undefined)
  return {
    status: code !== undefined && code >= 400 && code < 600 ? code : status,
    message: asText(error['message']) ?? '',
    ...optional('code', asText(error['status'])),
    ...(delay !== undefined && { retryAfterMs: Math.ceil(Number(delay) * 1000) }),
  }
}
