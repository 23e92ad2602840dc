import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type AnswerEvent,
  asList,
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
import { parseLogprobs } from '../openai/logprobs.ts'
import { parseUsage } from '../openai/usage.ts'
import {
  argumentsOf,
  imagesOf,
  parseCitations,
  parseProblem,
  parseStop,
  sealOfThoughts,
  textOf,
  thoughtOf,
} from './parse-answer.ts'

type Single = 'thought' | 'text' | 'refusal'

/** Parses a stream of chat completions. A record may contain a thought, a text and calls, in this order of events. */
export class ChatStreamParser implements StreamParser {
  readonly #facts: ParseFacts
  readonly #kinds: Pick<Part, 'kind'>[] = []
  /** The open part, unless it is a call. */
  #open: { readonly kind: Single; readonly at: number } | undefined
  readonly #calls: { readonly index: number; readonly at: number; readonly id: string; hasArguments: boolean }[] = []
  #hasStarted = false
  #hasFinished = false
  #hasUsage = false
  #isOver = false

  constructor(facts: ParseFacts) {
    this.#facts = facts
  }

  read({ data }: StreamRecord): readonly AnswerEvent[] {
    if (this.#isOver || data === '') return []
    if (data.trim() === '[DONE]')
      return this.#hasFinished ? this.#end() : this.#cut('it sent [DONE] without a finish_reason')
    const value = parseJson(data)
    const record = asObject(value)
    if (!record) return this.#cut('a record of it is not JSON')
    if (record['error'] !== undefined && record['error'] !== null) return this.#fail(record)
    const events: AnswerEvent[] = this.#start(record)
    const choice = asObject(asList(record['choices'])[0])
    if (choice) this.#readChoice(choice, events)
    const usage = parseUsage(record['usage'] ?? valueAt(choice, 'usage'))
    if (usage) {
      this.#hasUsage = true
      events.push({ kind: 'usage', usage })
    }
    if (choice) this.#readFinish(choice, record, events)
    return events
  }

  /** Some vendors end without `[DONE]`. A finish reason and usage together prove that the stream is complete. */
  end(): readonly AnswerEvent[] {
    if (this.#isOver) return []
    return this.#hasFinished && this.#hasUsage ? this.#end() : this.#cut('it ended before its last event')
  }

  #start(record: JsonObject): AnswerEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    return [{ kind: 'start', ...optional('id', asText(record['id'])), ...optional('model', asText(record['model'])) }]
  }

  #readChoice(choice: JsonObject, events: AnswerEvent[]): void {
    const delta = asObject(choice['delta']) ?? asObject(choice['message'])
    if (!delta) return
    this.#write('thought', thoughtOf(delta) ?? '', events)
    this.#write('text', textOf(delta['content']), events)
    this.#write('refusal', asText(delta['refusal']) ?? '', events)
    const citations = parseCitations(delta['annotations'])
    const tokens = parseLogprobs(valueAt(choice['logprobs'], 'content'))
    if (this.#open?.kind === 'text' && citations.length > 0)
      events.push({ kind: 'citations', at: this.#open.at, citations })
    if (this.#open?.kind === 'text' && tokens.length > 0) events.push({ kind: 'logprobs', at: this.#open.at, tokens })
    for (const image of imagesOf(delta)) {
      this.#closeSingle(events)
      events.push({ kind: 'close', at: this.#begin(image, events) })
    }
    for (const [i, call] of asList(delta['tool_calls']).entries()) this.#readCall(call, i, events)
  }

  #write(kind: Single, text: string, events: AnswerEvent[]): void {
    if (text === '') return
    if (this.#open?.kind !== kind) {
      this.#closeSingle(events)
      const head: PartHead = kind === 'thought' ? { kind, form: 'full' } : { kind }
      this.#open = { kind, at: this.#begin(head, events) }
    }
    events.push({ kind: 'text', at: this.#open.at, text })
  }

  #begin(part: PartHead, events: AnswerEvent[]): number {
    const at = this.#kinds.length
    this.#kinds.push({ kind: part.kind })
    events.push({ kind: 'open', at, part })
    return at
  }

  #closeSingle(events: AnswerEvent[]): void {
    const open = this.#open
    if (!open) return
    if (open.kind === 'thought') events.push({ kind: 'seal', at: open.at, seal: sealOfThoughts(this.#facts.issuer) })
    events.push({ kind: 'close', at: open.at })
    this.#open = undefined
  }

  /** Vendors that omit the index, or give all calls the same index, send each call completely. */
  #readCall(value: Json, i: number, events: AnswerEvent[]): void {
    const own = asObject(valueAt(value, 'function'))
    const given = asText(valueAt(value, 'id'))
    const index = asNumber(valueAt(value, 'index')) ?? (given ? this.#calls.length : i)
    const name = asText(own?.['name'])
    let call = this.#calls.findLast(one => one.index === index)
    if (!call || (name && given && given !== call.id)) {
      if (!name) return
      this.#closeSingle(events)
      const id = given || `call_${this.#facts.id}_${index}`
      const sealed = asText(valueAt(value, 'extra_content', 'google', 'thought_signature'))
      const seal = sealed === undefined ? {} : { seal: { issuer: this.#facts.issuer, value: sealed } }
      call = { index, at: this.#begin({ kind: 'call', id, name, ...seal }, events), id, hasArguments: false }
      this.#calls.push(call)
    }
    const text = argumentsOf(own)
    if (text === '') return
    call.hasArguments = true
    events.push({ kind: 'text', at: call.at, text })
  }

  #readFinish(choice: JsonObject, record: JsonObject, events: AnswerEvent[]): void {
    const reason = choice['finish_reason']
    if (reason === undefined || reason === null || this.#hasFinished) return
    this.#hasFinished = true
    this.#closeSingle(events)
    for (const { at, hasArguments } of this.#calls) {
      if (!hasArguments) events.push({ kind: 'text', at, text: '{}' })
      events.push({ kind: 'close', at })
    }
    const tier = optional('serviceTier', asText(record['service_tier']))
    events.push({ kind: 'finish', stop: parseStop(reason, this.#kinds), ...tier })
  }

  #end(): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'end' }]
  }

  #cut(reason: string): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'error', problem: { status: 502, message: reason } }]
  }

  #fail(record: JsonObject): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'error', problem: parseProblem(502, record) }]
  }
}
