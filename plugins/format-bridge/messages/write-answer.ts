import {
  type Answer,
  AnswerFault,
  type AnswerUsage,
  asObject,
  type Citation,
  compact,
  isTruncatedCall,
  type JsonObject,
  packCallSeal,
  packSeal,
  parseJson,
  type Part,
  type Stop,
  type WriteFacts,
} from '../neutral/index.ts'

export function writeAnswer({ parts, stop, usage }: Answer, facts: WriteFacts): JsonObject {
  const { id, model } = facts
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    // The SDK does the same for a stream.
    content: parts.flatMap(part => writePart(isTruncatedCall(part, stop) ? { ...part, arguments: '' } : part)),
    stop_reason: writeStop(stop),
    stop_sequence: stop.sequence ?? null,
    usage: writeUsage(usage ?? { input: facts.inputEstimate, output: 0 }),
  }
}

function writePart(part: Part): readonly JsonObject[] {
  switch (part.kind) {
    case 'text': {
      if (part.text === '') return []
      const citations = (part.citations ?? []).flatMap(one => writeCitation(one, part.text))
      return [{ type: 'text', text: part.text, ...(citations.length > 0 && { citations }) }]
    }
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }]
    case 'thought':
      if (part.form === 'hidden' || part.text === '')
        return part.seal ? [{ type: 'redacted_thinking', data: packSeal(part.seal) }] : []
      return [{ type: 'thinking', thinking: part.text, signature: part.seal ? packSeal(part.seal) : '' }]
    case 'call': {
      const sealed = part.seal ? [{ type: 'redacted_thinking', data: packCallSeal(part.seal) }] : []
      return [...sealed, { type: 'tool_use', id: part.id, name: part.name, input: writeInput(part.arguments) }]
    }
    default:
      throw noPlace(part.kind)
  }
}

/** The official SDK parses the arguments of a stream; a complete answer contains them as an object. */
function writeInput(text: string): JsonObject {
  const input = asObject(text.trim() === '' ? {} : parseJson(text))
  if (!input) throw new AnswerFault('the arguments of a call are not a JSON object')
  return input
}

/** Reports a part, such as an image, that no request in this format can cause. */
export function noPlace(kind: Part['kind']): AnswerFault {
  return new AnswerFault(`it has a part (${kind}) that the client's API format cannot carry`)
}

/** Only citations of links are supported, because each vendor counts positions in documents differently. */
export function writeCitation({ url, title, quote, from = 0, to }: Citation, text: string): readonly JsonObject[] {
  if (url === undefined) return []
  const cited = quote ?? text.slice(from, to)
  return [{ type: 'web_search_result_location', url, title: title ?? null, cited_text: cited, encrypted_index: '' }]
}

const stops: { readonly [why in Stop['why']]: string } = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  sequence: 'stop_sequence',
  refused: 'refusal',
}

export function writeStop({ why }: Stop): string {
  return stops[why]
}

/** `input_tokens` excludes cached input here. */
export function writeUsage(usage: AnswerUsage): JsonObject {
  const { input, output, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, reasoning } = usage
  return compact({
    input_tokens: Math.max(0, input - cacheRead - cacheWrite5m - cacheWrite1h),
    cache_creation_input_tokens: cacheWrite5m + cacheWrite1h,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    output_tokens_details: reasoning === undefined ? undefined : { thinking_tokens: reasoning },
  })
}
