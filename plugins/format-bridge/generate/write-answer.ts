import {
  type Answer,
  AnswerFault,
  type AnswerUsage,
  asObject,
  compact,
  isTruncatedCall,
  type JsonObject,
  packSeal,
  parseJson,
  type Part,
  type Seal,
  type Stop,
  type TokenLogprob,
  type WriteFacts,
} from '../neutral/index.ts'

export function writeAnswer(answer: Answer, facts: WriteFacts): JsonObject {
  const parts = answer.parts.filter(part => !isTruncatedCall(part, answer.stop)).flatMap(writePart)
  const tokens = answer.parts.flatMap(part => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  return writeRecord(facts, {
    parts,
    more: {
      finishReason: writeStop(answer.stop),
      ...(tokens.length > 0 && { logprobsResult: writeLogprobs(tokens) }),
    },
    usage: answer.usage,
  })
}

type Candidate = {
  readonly parts: readonly JsonObject[]
  readonly more?: JsonObject
  readonly usage?: AnswerUsage | undefined
}

/**
 * A complete answer, or a record of a stream. SDKs drop the turn of a record without parts, so such a record gets an
 * empty text.
 */
export function writeRecord({ id, model }: WriteFacts, { parts, more, usage }: Candidate): JsonObject {
  const content = { role: 'model', parts: parts.length > 0 ? parts : [{ text: '' }] }
  return compact({
    candidates: [{ content, index: 0, ...more }],
    usageMetadata: usage && writeUsage(usage),
    modelVersion: model,
    responseId: id,
  })
}

/** @throws AnswerFault for arguments that are not a JSON object, which the format requires */
export function writePart(part: Part): readonly JsonObject[] {
  switch (part.kind) {
    case 'text':
      return [compact({ text: part.text, ...signature(part.seal) })]
    case 'refusal':
      return [{ text: part.text }]
    case 'thought':
      return [{ text: part.text, thought: true, ...signature(part.seal) }]
    case 'call': {
      const args = asObject(parseJson(part.arguments === '' ? '{}' : part.arguments))
      if (!args) throw new AnswerFault(`the arguments of its call of ${part.name} are not a JSON object`)
      return [{ functionCall: { id: part.id, name: part.name, args }, ...signature(part.seal) }]
    }
    case 'media':
      if (part.source.kind !== 'bytes') return []
      return [{ inlineData: { mimeType: part.mime ?? 'image/png', data: part.source.base64 }, ...signature(part.seal) }]
    default:
      return []
  }
}

export function signature(seal: Seal | undefined): JsonObject {
  return seal ? { thoughtSignature: packSeal(seal) } : {}
}

export function writeStop({ why }: Stop): string {
  if (why === 'length' || why === 'context') return 'MAX_TOKENS'
  return why === 'refused' ? 'SAFETY' : 'STOP'
}

export function writeUsage(usage: AnswerUsage): JsonObject {
  const { input, output, cacheRead, reasoning = 0, toolInput = 0 } = usage
  return compact({
    promptTokenCount: input - toolInput,
    candidatesTokenCount: Math.max(0, output - reasoning),
    totalTokenCount: input + output,
    thoughtsTokenCount: reasoning > 0 ? reasoning : undefined,
    toolUsePromptTokenCount: toolInput > 0 ? toolInput : undefined,
    cachedContentTokenCount: cacheRead !== undefined && cacheRead > 0 ? cacheRead : undefined,
  })
}

export function writeLogprobs(tokens: readonly TokenLogprob[]): JsonObject {
  return {
    chosenCandidates: tokens.map(writeToken),
    topCandidates: tokens.map(({ top }) => ({ candidates: top.map(writeToken) })),
  }
}

function writeToken({ token, logprob }: { readonly token: string; readonly logprob: number }): JsonObject {
  return { token, logProbability: logprob }
}
