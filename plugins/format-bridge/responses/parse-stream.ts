import {
  type AnswerEvent,
  AnswerFault,
  asList,
  asNumber,
  asObject,
  asText,
  eventsOfPart,
  type JsonObject,
  optional,
  type ParseFacts,
  parseJson,
  type Part,
  type PartHead,
  type Problem,
  type StreamParser,
  type StreamRecord,
} from '../neutral/index.ts'
import { parseLogprobs } from '../openai/logprobs.ts'
import { parseUsage } from '../openai/usage.ts'
import {
  parseCall,
  parseCitation,
  parseContent,
  parseImage,
  parseItem,
  parseProblem,
  parseStop,
  thoughtOf,
} from './parse-answer.ts'

type OpenPart = { readonly at: number; hasText: boolean }

/**
 * Parses a stream of responses. Vendors repeat each text in its deltas, its `done` event and its item. The first one is
 * used, and the others only if it is missing.
 */
export class ResponsesStreamParser implements StreamParser {
  readonly #facts: ParseFacts
  readonly #kinds: Pick<Part, 'kind'>[] = []
  /** Open parts by the item's index, and for messages also by that of the content. */
  readonly #open = new Map<string, OpenPart>()
  /** The keys of all parts so far. */
  readonly #known = new Set<string>()
  #hasStarted = false
  #isOver = false

  constructor(facts: ParseFacts) {
    this.#facts = facts
  }

  read({ data }: StreamRecord): readonly AnswerEvent[] {
    if (this.#isOver || data === '' || data.trim() === '[DONE]') return []
    const record = asObject(parseJson(data))
    if (!record) return this.#fail({ status: 502, message: 'a record of it is not JSON' })
    const events: AnswerEvent[] = this.#start(record)
    this.#read(asText(record['type']) ?? '', record, events)
    return events
  }

  end(): readonly AnswerEvent[] {
    return this.#isOver ? [] : this.#fail({ status: 502, message: 'it ended before its last event' })
  }

  /** An upstream may omit `response.created`. */
  #start(record: JsonObject): AnswerEvent[] {
    const type = asText(record['type']) ?? ''
    if (this.#hasStarted || !type.startsWith('response.') || type === 'response.failed') return []
    this.#hasStarted = true
    return [startOf(asObject(record['response']) ?? {})]
  }

  #read(type: string, record: JsonObject, events: AnswerEvent[]): void {
    const item = asObject(record['item']) ?? {}
    const part = keyOf(record, 'content_index')
    const own = keyOf(record)
    switch (type) {
      case 'response.output_item.added':
        if (isCall(item)) this.#begin(own, headOf(item, this.#facts.id), events)
        return
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#write(part, type.includes('refusal') ? 'refusal' : 'text', record, events)
        return
      case 'response.output_text.annotation.added':
        this.#cite(part, record, events)
        return
      case 'response.output_text.done':
      case 'response.refusal.done':
        this.#complete(part, type.includes('refusal') ? 'refusal' : 'text', record, events)
        return
      case 'response.reasoning_summary_part.added':
        // Parts of a summary are paragraphs of the same thought.
        if ((asNumber(record['summary_index']) ?? 0) > 0) this.#append(own, 'thought', '\n\n', events)
        return
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#append(own, 'thought', asText(record['delta']) ?? '', events)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#append(own, 'call', asText(record['delta']) ?? '', events)
        return
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        if (!this.#open.get(own)?.hasText)
          this.#append(own, 'call', asText(record['arguments']) ?? asText(record['input']) ?? '', events)
        return
      case 'response.output_item.done':
        this.#closeItem(own, item, events)
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        events.push(...this.#finish(asObject(record['response']) ?? {}))
        return
      case 'error':
        events.push(...this.#fail(parseProblem(502, asObject(record['error']) ? record : { error: record })))
        return
      default:
    }
  }

  #begin(key: string, part: PartHead, events: AnswerEvent[]): OpenPart {
    const at = this.#kinds.length
    this.#kinds.push({ kind: part.kind })
    const open = { at, hasText: false }
    this.#open.set(key, open)
    this.#known.add(key)
    events.push({ kind: 'open', at, part })
    return open
  }

  /** The part opens with its first text, because an upstream may omit the earlier events. */
  #append(key: string, kind: 'text' | 'refusal' | 'thought' | 'call', text: string, events: AnswerEvent[]): void {
    if (text === '') return
    const known = this.#open.get(key)
    if (!known && kind === 'call') return
    const head: PartHead = kind === 'thought' ? { kind, form: 'summary' } : { kind: kind as 'text' | 'refusal' }
    const open = known ?? this.#begin(key, head, events)
    open.hasText = true
    events.push({ kind: 'text', at: open.at, text })
  }

  #write(key: string, kind: 'text' | 'refusal', record: JsonObject, events: AnswerEvent[]): void {
    this.#append(key, kind, asText(record['delta']) ?? '', events)
    const tokens = parseLogprobs(record['logprobs'])
    const open = this.#open.get(key)
    if (open && tokens.length > 0) events.push({ kind: 'logprobs', at: open.at, tokens })
  }

  #cite(key: string, record: JsonObject, events: AnswerEvent[]): void {
    const open = this.#open.get(key)
    const citations = parseCitation(record['annotation'] ?? null)
    if (open && citations.length > 0) events.push({ kind: 'citations', at: open.at, citations })
  }

  #complete(key: string, kind: 'text' | 'refusal', record: JsonObject, events: AnswerEvent[]): void {
    if (!this.#open.get(key)?.hasText) this.#append(key, kind, asText(record[kind]) ?? '', events)
    this.#close(key, events)
  }

  #close(key: string, events: AnswerEvent[]): void {
    const open = this.#open.get(key)
    if (open) events.push({ kind: 'close', at: open.at })
    this.#open.delete(key)
  }

  #closeItem(key: string, item: JsonObject, events: AnswerEvent[]): void {
    if (isCall(item)) {
      const open = this.#open.get(key) ?? this.#begin(key, headOf(item, this.#facts.id), events)
      if (!open.hasText) this.#append(key, 'call', parseCall(item, this.#facts.id).arguments, events)
    } else if (item['type'] === 'reasoning') this.#closeThought(key, item, events)
    else if (item['type'] === 'image_generation_call')
      for (const image of parseImage(item)) {
        this.#kinds.push({ kind: 'media' })
        events.push(...eventsOfPart(image, this.#kinds.length - 1))
      }
    else if (item['type'] === 'message') this.#addContent(key, item, events)
    for (const own of this.#open.keys()) if (own === key || own.startsWith(`${key}.`)) this.#close(own, events)
  }

  /** The parts of a message without earlier events. */
  #addContent(key: string, item: JsonObject, events: AnswerEvent[]): void {
    for (const [i, content] of asList(item['content']).entries())
      if (!this.#known.has(`${key}.${i}`))
        for (const part of parseContent(content).filter(one => 'text' in one && one.text !== ''))
          events.push(...eventsOfPart(part, this.#kinds.push({ kind: part.kind }) - 1))
  }

  /** The encrypted content is complete only here. */
  #closeThought(key: string, item: JsonObject, events: AnswerEvent[]): void {
    const value = asText(item['encrypted_content'])
    if (!this.#open.has(key)) this.#append(key, 'thought', thoughtOf(item), events)
    if (value === undefined) return
    const { at } = this.#open.get(key) ?? this.#begin(key, { kind: 'thought', form: 'hidden' }, events)
    events.push({ kind: 'seal', at, seal: { issuer: this.#facts.issuer, value } })
  }

  #finish(response: JsonObject): readonly AnswerEvent[] {
    const events: AnswerEvent[] = []
    for (const key of this.#open.keys()) this.#close(key, events)
    // Some upstreams send nothing before their last event.
    const late = this.#kinds.length > 0 ? [] : asList(response['output']).flatMap(item => parseItem(item, this.#facts))
    for (const part of late) events.push(...eventsOfPart(part, this.#kinds.push({ kind: part.kind }) - 1))
    try {
      const stop = parseStop(response, this.#kinds)
      const usage = parseUsage(response['usage'])
      this.#isOver = true
      return [
        ...events,
        { kind: 'finish', stop, ...optional('serviceTier', asText(response['service_tier'])) },
        ...(usage ? [{ kind: 'usage', usage } as const] : []),
        { kind: 'end' },
      ]
    } catch (fault) {
      if (!(fault instanceof AnswerFault)) throw fault
      return this.#fail({ ...parseProblem(502, response), message: fault.message })
    }
  }

  #fail(problem: Problem): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'error', problem }]
  }
}

function startOf(response: JsonObject): AnswerEvent {
  return { kind: 'start', ...optional('id', asText(response['id'])), ...optional('model', asText(response['model'])) }
}

function isCall(item: JsonObject): boolean {
  return item['type'] === 'function_call' || item['type'] === 'custom_tool_call'
}

function headOf(item: JsonObject, id: string): PartHead {
  const { arguments: _, ...head } = parseCall(item, id)
  return head
}

function keyOf(record: JsonObject, ...more: readonly string[]): string {
  return ['output_index', ...more].map(name => String(asNumber(record[name]) ?? 0)).join('.')
}
