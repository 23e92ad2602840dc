import {
  type AnswerEvent,
  type AnswerUsage,
  asText,
  type Citation,
  type JsonObject,
  type PartHead,
  type Seal,
  type Stop,
  type StreamWriter,
  type TokenLogprob,
  type Tool,
  type WriteFacts,
} from '../neutral/index.ts'
import { writeLogprob } from '../openai/logprobs.ts'
import { namesOfTool } from './namespaces.ts'
import {
  stateOf,
  writeCitation,
  writeItem,
  writeMessage,
  writeResponse,
  writeText,
  writeThought,
} from './write-answer.ts'

type OpenPart = {
  readonly head: PartHead
  /** The item's index in the output. */
  readonly index: number
  readonly id: string
  /** Includes the prefix of its kind. */
  itemId: string
  text: string
  seal?: Seal
  hasSummary: boolean
  readonly citations: Citation[]
  readonly logprobs: TokenLogprob[]
}

/** Writes a stream of responses. Each part is an item, and several may be open. The last event repeats all items. */
export class ResponsesStreamWriter implements StreamWriter {
  readonly #facts: WriteFacts
  readonly #parts = new Map<number, OpenPart>()
  readonly #output: JsonObject[] = []
  #items = 0
  #sequence = 0
  #hasRefusal = false
  #stop: Stop = { why: 'end' }
  #serviceTier: string | undefined
  #usage: AnswerUsage | undefined

  constructor(facts: WriteFacts) {
    this.#facts = facts
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start': {
        const response = writeResponse(this.#facts, { status: 'in_progress', output: [] })
        return this.#record('response.created', { response }) + this.#record('response.in_progress', { response })
      }
      case 'open':
        return this.#open(event.at, event.part)
      case 'usage':
        this.#usage = { input: 0, output: 0, ...this.#usage, ...event.usage }
        return ''
      case 'finish':
        this.#stop = event.stop
        this.#serviceTier = event.serviceTier
        return ''
      case 'end':
        return this.#end()
      case 'error':
        return ''
      default:
        return this.#more(this.#parts.get(event.at), event)
    }
  }

  #open(at: number, head: PartHead): string {
    if (head.kind === 'media' && head.source.kind !== 'bytes') return ''
    const index = this.#items++
    const id = `${this.#facts.id}_${index}`
    const part: OpenPart = { head, index, id, itemId: '', text: '', hasSummary: false, citations: [], logprobs: [] }
    this.#parts.set(at, part)
    const item = emptyItem(part, this.#facts.request.tools)
    part.itemId = asText(item['id']) ?? ''
    const added = this.#record('response.output_item.added', { output_index: index, item })
    if (head.kind !== 'text' && head.kind !== 'refusal') return added
    if (head.kind === 'refusal') this.#hasRefusal = true
    const empty = head.kind === 'text' ? writeText('') : { type: 'refusal', refusal: '' }
    return added + this.#ofPart('response.content_part.added', part, { part: empty })
  }

  #more(part: OpenPart | undefined, event: Exclude<AnswerEvent, { kind: 'open' }> & { readonly at: number }): string {
    if (!part) return ''
    switch (event.kind) {
      case 'text':
        part.text += event.text
        return this.#delta(part, event.text)
      case 'seal':
        part.seal = event.seal
        return ''
      case 'logprobs':
        part.logprobs.push(...event.tokens)
        return this.#ofPart('response.output_text.delta', part, {
          delta: '',
          logprobs: event.tokens.map(writeLogprob),
        })
      case 'citations':
        return event.citations.map(citation => this.#cite(part, citation)).join('')
      default:
        this.#parts.delete(event.at)
        return this.#close(part)
    }
  }

  #delta(part: OpenPart, delta: string): string {
    switch (part.head.kind) {
      case 'text':
        return this.#ofPart('response.output_text.delta', part, { delta, logprobs: [] })
      case 'refusal':
        return this.#ofPart('response.refusal.delta', part, { delta })
      case 'thought': {
        const first = part.hasSummary
          ? ''
          : this.#ofSummary('response.reasoning_summary_part.added', part, { part: { type: 'summary_text', text: '' } })
        part.hasSummary = true
        return first + this.#ofSummary('response.reasoning_summary_text.delta', part, { delta })
      }
      case 'call':
        return this.#ofItem(
          part.head.freeform ? 'response.custom_tool_call_input.delta' : 'response.function_call_arguments.delta',
          part,
          { delta },
        )
      default:
        return ''
    }
  }

  #cite(part: OpenPart, citation: Citation): string {
    const annotation_index = part.citations.length
    const [annotation] = writeCitation(citation, part.text.length)
    if (!annotation) return ''
    part.citations.push(citation)
    return this.#ofPart('response.output_text.annotation.added', part, { annotation_index, annotation })
  }

  #close(part: OpenPart): string {
    const ended = this.#endOf(part)
    const item = wholeItem(part, this.#facts.request.tools)
    this.#output[part.index] = item
    return ended + this.#record('response.output_item.done', { output_index: part.index, item })
  }

  /** The events that end the content of an item. */
  #endOf(part: OpenPart): string {
    const { head, text } = part
    if (head.kind === 'text') {
      const logprobs = part.logprobs.map(writeLogprob)
      const done = this.#ofPart('response.output_text.done', part, { text, logprobs })
      return done + this.#ofPart('response.content_part.done', part, { part: writeText(text, part) })
    }
    if (head.kind === 'refusal') {
      const done = this.#ofPart('response.refusal.done', part, { refusal: text })
      return done + this.#ofPart('response.content_part.done', part, { part: { type: 'refusal', refusal: text } })
    }
    if (head.kind === 'thought' && part.hasSummary) {
      const done = this.#ofSummary('response.reasoning_summary_text.done', part, { text })
      const summary = { part: { type: 'summary_text', text } }
      return done + this.#ofSummary('response.reasoning_summary_part.done', part, summary)
    }
    if (head.kind !== 'call') return ''
    if (head.freeform) return this.#ofItem('response.custom_tool_call_input.done', part, { input: text })
    const whole = text === '' ? '{}' : text
    const missing = text === '' ? this.#delta(part, whole) : ''
    const done = { ...namesOfTool(head.name, this.#facts.request.tools), arguments: whole }
    return missing + this.#ofItem('response.function_call_arguments.done', part, done)
  }

  #end(): string {
    const { status, reason } = stateOf(this.#stop, this.#hasRefusal)
    const response = writeResponse(this.#facts, {
      status,
      ...(reason !== undefined && { reason }),
      output: this.#output,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
    })
    return this.#record(`response.${status}`, { response })
  }

  #ofPart(type: string, part: OpenPart, more: JsonObject): string {
    return this.#ofItem(type, part, { content_index: 0, ...more })
  }

  #ofSummary(type: string, part: OpenPart, more: JsonObject): string {
    return this.#ofItem(type, part, { summary_index: 0, ...more })
  }

  #ofItem(type: string, part: OpenPart, more: JsonObject): string {
    return this.#record(type, { item_id: part.itemId, output_index: part.index, ...more })
  }

  #record(type: string, more: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...more })}\n\n`
  }
}

function wholeItem({ head, id, text, seal, citations, logprobs }: OpenPart, tools: readonly Tool[]): JsonObject {
  if (head.kind === 'text') return writeMessage(id, [writeText(text, { citations, logprobs })])
  if (head.kind === 'thought') return writeThought(id, text, seal)
  const part = head.kind === 'call' ? { ...head, arguments: text } : head.kind === 'refusal' ? { ...head, text } : head
  return writeItem(part, id, tools) ?? {}
}

function emptyItem(part: OpenPart, tools: readonly Tool[]): JsonObject {
  const { head, id } = part
  if (head.kind === 'text' || head.kind === 'refusal') return writeMessage(id, [], 'in_progress')
  if (head.kind === 'thought') return writeThought(id, '', undefined)
  const whole = wholeItem(part, tools)
  if (head.kind === 'media') return { ...whole, status: 'in_progress', result: null }
  return { ...whole, ...('arguments' in whole ? { arguments: '' } : { input: '' }), status: 'in_progress' }
}
