import type { Json } from '../../../src/plugin-api/index.ts'
import { asList, asNumber, asText, type JsonObject, type TokenLogprob, valueAt } from '../neutral/index.ts'

export function parseLogprobs(value: Json | undefined): readonly TokenLogprob[] {
  return asList(value).map(one => ({ ...parseToken(one), top: asList(valueAt(one, 'top_logprobs')).map(parseToken) }))
}

function parseToken(value: Json): Omit<TokenLogprob, 'top'> {
  const bytes = asList(valueAt(value, 'bytes')).filter(one => typeof one === 'number')
  return {
    token: asText(valueAt(value, 'token')) ?? '',
    logprob: asNumber(valueAt(value, 'logprob')) ?? 0,
    ...(bytes.length > 0 && { bytes }),
  }
}

export function writeLogprob({ top, ...own }: TokenLogprob): JsonObject {
  return { ...writeToken(own), top_logprobs: top.map(writeToken) }
}

function writeToken({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): JsonObject {
  return { token, logprob, bytes: bytes ?? [...Buffer.from(token)] }
}
