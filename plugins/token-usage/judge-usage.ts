import { type Body, type Usage, readField } from '../../src/kit/index.ts'
import { isObject } from './is-object.ts'
import type { UsageFacet } from './schema.ts'

/** A report as far as it can be true, and the units of which it told what cannot be. */
export type Judged = { readonly usage: Usage | null; readonly implausible: readonly string[] }

/**
 * Holds a report against the bytes that passed. A token is a byte of text at least, and so is a second of sound or a thing
 * that was searched; what no caller sees (reasoning, stored conversations, results of the upstream's own tools) is given
 * `unseen_tokens_max` beyond that, for each choice. More cannot have been used, and no more is cached than was put in.
 */
export function judgeUsage(
  told: Usage | null,
  { body, answerBytes, facet }: { readonly body: Body; readonly answerBytes: number; readonly facet: UsageFacet },
): Judged {
  const reported = withoutPretence(told)
  if (!reported) return { usage: null, implausible: [] }
  const sent = bytesOf(body)
  const unseen = facet.unseen_tokens_max
  const { inputTokens: input, cachedInputTokens: cached, outputTokens: output, seconds, searchUnits } = reported
  const implausible: string[] = []
  const isPast = (unit: string, count: number | null, most: number): boolean => {
    if (count === null || count <= most) return false
    implausible.push(unit)
    return true
  }
  const most = input ?? Number.POSITIVE_INFINITY
  const isInputPast = isPast('input', input, sent + unseen) || isPast('cached_input', cached, most)
  const isOutputPast = isPast('output', output, answerBytes + unseen * choicesOf(body))
  const isSecondsPast = isPast('second', seconds, sent)
  const isSearchPast = isPast('search_unit', searchUnits, sent)
  if (implausible.length === 0) return { usage: reported, implausible }
  return {
    usage: {
      inputTokens: isInputPast ? null : input,
      cachedInputTokens: isInputPast ? null : cached,
      outputTokens: isOutputPast ? null : output,
      seconds: isSecondsPast ? null : seconds,
      searchUnits: isSearchPast ? null : searchUnits,
    },
    implausible,
  }
}

/** A report that tells of no use at all is none: whatever was asked is an input. */
export function withoutPretence(told: Usage | null): Usage | null {
  if (told?.inputTokens !== 0) return told
  return told.outputTokens || told.seconds || told.searchUnits ? told : null
}

/** Bytes of what the caller sent; no bound where nobody has counted them. */
function bytesOf(body: Body): number {
  if (body.kind === 'none') return 0
  if (body.kind === 'json') return body.json.bytes.length
  if (body.kind === 'stream' || body.kind === 'composed') return body.bytes ?? Number.POSITIVE_INFINITY
  return body.parts.reduce((sum, part) => sum + (part.kind === 'file' ? part.bytes : Buffer.byteLength(part.value)), 0)
}

/** Answers side by side, each of which may have thought before it spoke. */
function choicesOf(body: Body): number {
  const config = readField(body, 'generationConfig')
  const count = readField(body, 'n') ?? (isObject(config) ? config['candidateCount'] : undefined)
  return typeof count === 'number' && count > 1 ? Math.min(Math.floor(count), 128) : 1
}
