import {
  type AnswerEvent,
  type AnswerUsage,
  createSequencer,
  type JsonObject,
  packCallSeal,
  packSeal,
  type PartHead,
  type Seal,
  type Stop,
  type StreamWriter,
  type WriteFacts,
} from '../neutral/index.ts'
import { noPlace, writeCitation, writeStop, writeUsage } from './write-answer.ts'

/** Writes a stream of messages: one block after another, and the complete usage at the end. */
export class MessagesStreamWriter implements StreamWriter {
  readonly #facts: WriteFacts
  readonly #sequence = createSequencer()
  #index = 0
  #open: { readonly head: PartHead; text: string; hasBegun: boolean } | undefined
  #stop: Stop | undefined
  #usage: AnswerUsage | undefined

  constructor(facts: WriteFacts) {
    this.#facts = facts
  }

  write(event: AnswerEvent): string {
    return this.#sequence(event)
      .map(one => this.#write(one))
      .join('')
  }

  #write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        return this.#start()
      case 'open':
        return this.#begin(event.part)
      case 'text':
        return this.#text(event.text)
      case 'seal':
        return this.#seal(event.seal)
      case 'citations': {
        const text = this.#open?.text ?? ''
        return event.citations
          .flatMap(one => writeCitation(one, text))
          .map(citation => this.#delta({ type: 'citations_delta', citation }))
          .join('')
      }
      case 'close':
        return this.#close()
      case 'usage':
        this.#usage = { input: 0, output: 0, ...this.#usage, ...event.usage }
        return ''
      case 'finish':
        this.#stop = event.stop
        return ''
      case 'end':
        return this.#end()
      default:
        return ''
    }
  }

  #start(): string {
    const { id, model, inputEstimate } = this.#facts
    // Some clients add the output of the last event to that of this one, so it is 0 here.
    const usage = writeUsage({ ...(this.#usage ?? { input: inputEstimate }), output: 0 })
    const own = { type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }
    return record('message_start', { message: { id: `msg_${id}`, model, ...own, usage } })
  }

  #begin(head: PartHead): string {
    this.#open = { head, text: '', hasBegun: false }
    if (head.kind === 'media') throw noPlace('media')
    if (head.kind !== 'call') return ''
    const sealed = head.seal
      ? this.#block({ type: 'redacted_thinking', data: packCallSeal(head.seal) }) + this.#stopBlock()
      : ''
    this.#open.hasBegun = true
    return sealed + this.#block({ type: 'tool_use', id: head.id, name: head.name, input: {} })
  }

  /** A block begins with its first text, because the vendor refuses an empty text that the client sends back. */
  #text(text: string): string {
    const open = this.#open
    if (!open) return ''
    const { head } = open
    if (head.kind === 'call') return this.#delta({ type: 'input_json_delta', partial_json: text })
    const begin = open.hasBegun ? '' : this.#block(emptyBlock(head))
    open.hasBegun = true
    if (head.kind === 'thought') return begin + this.#delta({ type: 'thinking_delta', thinking: text })
    open.text += text
    return begin + this.#delta({ type: 'text_delta', text })
  }

  #seal(seal: Seal): string {
    const open = this.#open
    if (open?.head.kind !== 'thought') return ''
    if (open.hasBegun) return this.#delta({ type: 'signature_delta', signature: packSeal(seal) })
    open.hasBegun = true
    return this.#block({ type: 'redacted_thinking', data: packSeal(seal) })
  }

  #close(): string {
    const open = this.#open
    this.#open = undefined
    return open?.hasBegun ? this.#stopBlock() : ''
  }

  #end(): string {
    const stop = this.#stop ?? { why: 'end' }
    const usage = writeUsage(this.#usage ?? { input: this.#facts.inputEstimate, output: 0 })
    const delta = { stop_reason: writeStop(stop), stop_sequence: stop.sequence ?? null }
    return record('message_delta', { delta, usage }) + record('message_stop', {})
  }

  #block(block: JsonObject): string {
    return record('content_block_start', { index: this.#index, content_block: block })
  }

  #delta(delta: JsonObject): string {
    return record('content_block_delta', { index: this.#index, delta })
  }

  #stopBlock(): string {
    return record('content_block_stop', { index: this.#index++ })
  }
}

/** Clients append to these members, so that they must exist. */
function emptyBlock(head: PartHead): JsonObject {
  return head.kind === 'thought' ? { type: 'thinking', thinking: '', signature: '' } : { type: 'text', text: '' }
}

function record(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}
