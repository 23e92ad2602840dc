import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type AnswerEvent,
  asNumber,
  asObject,
  asText,
  type JsonObject,
  optional,
  type ParseFacts,
  parseJson,
  type Part,
  type PartHead,
  type StreamParser,
  type StreamRecord,
  valueAt,
} from '../neutral/index.ts'
import { parseProblem, parseStop, parseUsage } from './parse-answer.ts'
import { parseCitations } from './parse-blocks.ts'

type Block = { readonly at: number; readonly kind: Part['kind']; hasText: boolean }

/** Parses a stream of messages. Omits blocks of the vendor's own tools, which clients of other formats do not have. */
export class MessagesStreamParser implements StreamParser {
  readonly #facts: ParseFacts
  readonly #kinds: Pick<Part, 'kind'>[] = []
  readonly #blocks = new Map<number, Block>()
  /** The reported usage so far, because later records omit unchanged members. */
  #reported: JsonObject = {}
  #hasFinished = false
  #isOver = false

  constructor(facts: ParseFacts) {
    this.#facts = facts
  }

  read({ data }: StreamRecord): readonly AnswerEvent[] {
    if (this.#isOver || data === '') return []
    const record = asObject(parseJson(data))
    if (!record) return this.#cut('a record of it is not JSON')
    switch (record['type']) {
      case 'message_start':
        return this.#start(asObject(record['message']) ?? {})
      case 'content_block_start':
        return this.#open(asNumber(record['index']) ?? 0, asObject(record['content_block']) ?? {})
      case 'content_block_delta':
        return this.#more(this.#blocks.get(asNumber(record['index']) ?? 0), asObject(record['delta']) ?? {})
      case 'content_block_stop':
        return this.#close(asNumber(record['index']) ?? 0)
      case 'message_delta':
        return this.#finish(record)
      case 'message_stop':
        this.#isOver = true
        return this.#hasFinished ? [{ kind: 'end' }] : this.#cut('it ended without a stop_reason')
      case 'error':
        this.#isOver = true
        return [{ kind: 'error', problem: parseProblem(0, record) }]
      default:
        return []
    }
  }

  end(): readonly AnswerEvent[] {
    return this.#isOver ? [] : this.#cut('it ended before its last event')
  }

  #start(message: JsonObject): readonly AnswerEvent[] {
    return [
      { kind: 'start', ...optional('id', asText(message['id'])), ...optional('model', asText(message['model'])) },
      ...this.#count(message['usage']),
    ]
  }

  #open(index: number, block: JsonObject): readonly AnswerEvent[] {
    const head = headOf(block)
    if (!head) return []
    const at = this.#kinds.length
    this.#kinds.push({ kind: head.kind })
    const opened: Block = { at, kind: head.kind, hasText: false }
    this.#blocks.set(index, opened)
    const hidden = asText(block['data'])
    // Some vendors send a complete block at once.
    const text = asText(block['text']) || asText(block['thinking']) || wholeInput(block['input'])
    return [
      { kind: 'open', at, part: head },
      ...(text ? this.#text(opened, text) : []),
      ...(hidden ? [{ kind: 'seal', at, seal: { issuer: this.#facts.issuer, value: hidden } } as const] : []),
    ]
  }

  #text(block: Block, text: string): readonly AnswerEvent[] {
    if (text === '') return []
    block.hasText = true
    return [{ kind: 'text', at: block.at, text }]
  }

  #more(block: Block | undefined, delta: JsonObject): readonly AnswerEvent[] {
    if (!block) return []
    const signature = asText(delta['signature'])
    if (signature) return [{ kind: 'seal', at: block.at, seal: { issuer: this.#facts.issuer, value: signature } }]
    const citations = parseCitations(delta['citation'] === undefined ? [] : [delta['citation']])
    if (citations.length > 0) return [{ kind: 'citations', at: block.at, citations }]
    return this.#text(block, asText(delta['text']) ?? asText(delta['thinking']) ?? asText(delta['partial_json']) ?? '')
  }

  #close(index: number): readonly AnswerEvent[] {
    const block = this.#blocks.get(index)
    if (!block) return []
    this.#blocks.delete(index)
    const empty = block.kind === 'call' && !block.hasText ? this.#text(block, '{}') : []
    return [...empty, { kind: 'close', at: block.at }]
  }

  #finish(record: JsonObject): readonly AnswerEvent[] {
    const counted = this.#count(record['usage'])
    const reason = valueAt(record['delta'], 'stop_reason')
    if (reason === undefined || reason === null || this.#hasFinished) return counted
    this.#hasFinished = true
    const stop = parseStop(reason, valueAt(record['delta'], 'stop_sequence'), this.#kinds)
    return [...[...this.#blocks.keys()].flatMap(index => this.#close(index)), { kind: 'finish', stop }, ...counted]
  }

  #count(usage: Json | undefined): readonly AnswerEvent[] {
    const members = Object.entries(asObject(usage) ?? {}).filter(([, value]) => value !== null)
    if (members.length === 0) return []
    this.#reported = { ...this.#reported, ...Object.fromEntries(members) }
    const counted = parseUsage(this.#reported)
    return counted ? [{ kind: 'usage', usage: counted }] : []
  }

  #cut(reason: string): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'error', problem: { status: 502, message: reason } }]
  }
}

function headOf(block: JsonObject): PartHead | undefined {
  const { type } = block
  if (type === 'text') return { kind: 'text' }
  if (type === 'thinking') return { kind: 'thought', form: 'full' }
  if (type === 'redacted_thinking') return { kind: 'thought', form: 'hidden' }
  const id = asText(block['id'])
  const name = asText(block['name'])
  return type === 'tool_use' && id !== undefined && name !== undefined ? { kind: 'call', id, name } : undefined
}

function wholeInput(input: Json | undefined): string | undefined {
  const own = asObject(input)
  return own && Object.keys(own).length > 0 ? JSON.stringify(own) : undefined
}
