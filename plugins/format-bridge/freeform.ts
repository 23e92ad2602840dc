import {
  type AnswerEvent,
  asText,
  type CallPart,
  type Conversation,
  type JsonObject,
  parseJson,
  type Part,
  valueAt,
} from './neutral/index.ts'

/** The only argument of the function that replaces a tool with text input. */
const member = 'input'
const schema: JsonObject = {
  type: 'object',
  properties: { [member]: { type: 'string' } },
  required: [member],
  additionalProperties: false,
}

/** The conversation without freeform tools, for an upstream whose format has none. */
export function withoutFreeform(conversation: Conversation): Conversation {
  if (!conversation.tools.some(tool => tool.freeform) && !conversation.turns.some(hasFreeform)) return conversation
  const tools = conversation.tools.map(({ freeform, ...tool }) =>
    freeform ? { ...tool, schema, strict: false } : tool,
  )
  const turns = conversation.turns.map(turn => ({ ...turn, parts: turn.parts.map(wrap) }))
  return { ...conversation, tools, turns }
}

function hasFreeform({ parts }: { readonly parts: readonly Part[] }): boolean {
  return parts.some(part => part.kind === 'call' && part.freeform)
}

function wrap(part: Part): Part {
  if (part.kind !== 'call' || !part.freeform) return part
  const { freeform: _, ...call } = part
  return { ...call, arguments: JSON.stringify({ [member]: part.arguments }) }
}

/** The call of a freeform tool in its client's form. */
export function unwrapCall(call: CallPart): CallPart {
  return { ...call, arguments: textOf(call.arguments), freeform: true }
}

/** A model that did not follow the schema has written the text itself. */
function textOf(text: string): string {
  return asText(valueAt(parseJson(text), member)) ?? text
}

/**
 * Restores calls of freeform tools in a stream. Their arguments wait until the call is complete, because the decoded
 * beginning of a JSON text may end in characters that the rest changes.
 */
export function createUnwrapper(names: ReadonlySet<string>): (event: AnswerEvent) => readonly AnswerEvent[] {
  const held = new Map<number, string>()
  return event => {
    if (event.kind === 'open' && event.part.kind === 'call' && names.has(event.part.name)) {
      held.set(event.at, '')
      return [{ ...event, part: { ...event.part, freeform: true } }]
    }
    if (!('at' in event)) return [event]
    const text = held.get(event.at)
    if (text === undefined) return [event]
    if (event.kind === 'text') held.set(event.at, text + event.text)
    if (event.kind !== 'close') return []
    held.delete(event.at)
    const own = textOf(text)
    return own === '' ? [event] : [{ kind: 'text', at: event.at, text: own }, event]
  }
}
