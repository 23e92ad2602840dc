import type { Json } from '../domain/index.ts'
import { findTexts, type FoundText } from './texts.ts'

type Members = { readonly [name: string]: Json | undefined }

/** The next part of a text. `channel` identifies the text within the stream: a choice, a block, a tool call. */
export type TextPart = FoundText & { readonly channel: string }

/** The texts of an event of a stream. */
export type EventTexts = {
  readonly parts: readonly TextPart[]
  /** Texts that the event contains completely. */
  readonly wholes: readonly FoundText[]
  /** No text of an earlier event continues after this one. */
  readonly isEnd: boolean
}

const ends = /(?:\.done|\.completed|\.incomplete|\.failed|_stop|^message_delta)$/

/**
 * The texts of an event in any API format. Parts of texts are in `choices[].delta` and `choices[].text`, in
 * `candidates[].content`, and in the `delta` of events whose type ends with that word. Other events, quotes and
 * `choices[].message` contain whole texts.
 */
export function readEvent(event: Json): EventTexts {
  if (!isMembers(event)) return { parts: [], wholes: [], isEnd: false }
  const { type = '', delta, choices, candidates } = event
  if (Array.isArray(choices)) return readEach(choices as readonly Json[], 'finish_reason', readChoice)
  if (Array.isArray(candidates)) return readEach(candidates as readonly Json[], 'finishReason', readCandidate)
  const kind = typeof type === 'string' ? type : ''
  if (kind.endsWith('delta') && kind !== 'message_delta' && delta !== undefined)
    return {
      parts: readDelta(event, kind),
      wholes: isMembers(delta) ? findTexts(delta['citation'], 'text') : [],
      isEnd: false,
    }
  return { parts: [], wholes: findTexts(event), isEnd: ends.test(kind) }
}

function readEach(
  list: readonly Json[],
  reason: string,
  read: (one: Members, index: string) => readonly TextPart[],
): EventTexts {
  const members = list.filter(isMembers)
  return {
    parts: members.flatMap((one, i) => read(one, nameOf(one['index'] ?? i))),
    // Some vendors repeat the whole text so far in each event.
    wholes: members.flatMap(one => findTexts(one['message'])),
    isEnd: members.some(one => typeof one[reason] === 'string'),
  }
}

function readChoice(choice: Members, index: string): readonly TextPart[] {
  const { delta, text } = choice
  if (typeof text === 'string')
    return [{ text, channel: `${index}.text`, put: next => void ((choice as { text: Json }).text = next) }]
  if (!isMembers(delta)) return []
  // Each member of a delta is a separate text, and so is each tool call.
  return Object.entries(delta).flatMap(([name, value]) => {
    const calls = Array.isArray(value) ? (value as readonly Json[]) : undefined
    if (calls)
      return calls.flatMap((call, i) => {
        const place = nameOf((isMembers(call) ? call['index'] : undefined) ?? i)
        return findTexts(call).map(one => ({ ...one, channel: `${index}.${name}.${place}` }))
      })
    return findTexts({ [name]: value }).map(one => ({
      ...one,
      channel: `${index}.${name}`,
      put: (next: string) => void Object.assign(delta, { [name]: next }),
    }))
  })
}

function readCandidate(candidate: Members, index: string): readonly TextPart[] {
  return findTexts(candidate['content'] ?? null).map(one => ({ ...one, channel: `candidate${index}` }))
}

/** `content_block_delta` has its text in an object, `response.output_text.delta` in a string. */
function readDelta(event: Members, type: string): readonly TextPart[] {
  // Audio in Base64.
  if (type.includes('audio') && !type.includes('transcript')) return []
  const { delta, index, item_id: item, output_index: output, content_index: content } = event
  const channel = [type, index, item, output, content].map(nameOf).join('.')
  if (typeof delta !== 'string') return findTexts(delta ?? null).map(one => ({ ...one, channel }))
  return [{ text: delta, channel, put: next => void ((event as { delta: Json }).delta = next) }]
}

/** Part of a channel's name: an index, an id, a type. */
function nameOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : ''
}

function isMembers(value: Json | undefined): value is Members & { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
