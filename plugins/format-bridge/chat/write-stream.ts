import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type AnswerEvent,
  type AnswerUsage,
  compact,
  type JsonObject,
  type PartHead,
  type Stop,
  type StreamWriter,
  type WriteFacts,
} from '../neutral/index.ts'
import { writeLogprob } from '../openai/logprobs.ts'
import { sealOfCall, writeCitation, writeImage, writeStop, writeThought, writeUsage } from './write-answer.ts'

type OpenPart = { readonly head: PartHead; readonly index: number; readonly start: number; text: string }

/** Writes a stream of chat completions. The finish waits for the end, because the usage may come between them. */
export class ChatStreamWriter implements StreamWriter {
  readonly #facts: WriteFacts
  readonly #parts = new Map<number, OpenPart>()
  readonly #thoughts: Json[] = []
  #calls = 0
  /** The number of characters in the message so far. */
  #length = 0
  #hasRefusal = false
  #stop: Stop | undefined
  #tier: string | undefined
  #usage: AnswerUsage | undefined

  constructor(facts: WriteFacts) {
    this.#facts = facts
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        return this.#delta({ role: 'assistant', content: '' })
      case 'open':
        return this.#open(event.at, event.part)
      case 'usage':
        this.#usage = { input: 0, output: 0, ...this.#usage, ...event.usage }
        return ''
      case 'finish':
        this.#stop = event.stop
        this.#tier = event.serviceTier
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
    const index = head.kind === 'call' ? this.#calls++ : 0
    this.#parts.set(at, { head, index, start: this.#length, text: '' })
    if (head.kind === 'refusal') this.#hasRefusal = true
    if (head.kind === 'media') return this.#delta({ images: writeImage(head) })
    if (head.kind !== 'call') return ''
    const { id, name, freeform, seal } = head
    const own = freeform
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } }
    return this.#delta({ tool_calls: [{ index, id, ...own, ...(seal && sealOfCall(seal)) }] })
  }

  #more(part: OpenPart | undefined, event: Exclude<AnswerEvent, { kind: 'open' }> & { readonly at: number }): string {
    if (!part) return ''
    const { head, index } = part
    if (event.kind === 'text') return this.#text(part, event.text)
    if (event.kind === 'logprobs')
      return this.#chunk({ delta: {}, logprobs: { content: event.tokens.map(writeLogprob), refusal: null } })
    if (event.kind === 'citations') {
      const cited = event.citations.flatMap(one => writeCitation(one, part.start, part.text.length))
      return cited.length > 0 ? this.#delta({ annotations: cited }) : ''
    }
    if (event.kind === 'seal') {
      if (head.kind === 'call') return this.#delta({ tool_calls: [{ index, ...sealOfCall(event.seal) }] })
      if (head.kind !== 'thought') return ''
      // Clients replace this list, so it always contains all thoughts.
      this.#thoughts.push(writeThought(part.text, event.seal))
      return this.#delta({ thinking_blocks: [...this.#thoughts] })
    }
    this.#parts.delete(event.at)
    // Clients parse the arguments of every call, so they must not be empty.
    return head.kind === 'call' && !head.freeform && part.text === '' ? this.#text(part, '{}') : ''
  }

  #text(part: OpenPart, text: string): string {
    const { head, index } = part
    if (head.kind !== 'call') part.text += text
    else if (part.text === '') part.text = '…'
    if (head.kind === 'thought') return this.#delta({ reasoning_content: text })
    if (head.kind === 'refusal') return this.#delta({ refusal: text })
    if (head.kind === 'call') {
      const own = head.freeform ? { custom: { input: text } } : { function: { arguments: text } }
      return this.#delta({ tool_calls: [{ index, ...own }] })
    }
    this.#length += text.length
    return this.#delta({ content: text })
  }

  #end(): string {
    const stop = this.#stop ?? { why: 'end' }
    const finish_reason = writeStop(stop, this.#hasRefusal)
    const tier = this.#tier === undefined ? {} : { service_tier: this.#tier }
    const finish = this.#chunk({ delta: {}, finish_reason }, tier)
    const usage =
      this.#usage && this.#facts.request.streamUsage ? this.#record([], { usage: writeUsage(this.#usage) }) : ''
    return `${finish}${usage}data: [DONE]\n\n`
  }

  #delta(delta: JsonObject): string {
    return this.#chunk({ delta })
  }

  #chunk(choice: JsonObject, more: JsonObject = {}): string {
    return this.#record([compact({ index: 0, logprobs: null, finish_reason: null, ...choice })], more)
  }

  #record(choices: Json, more: JsonObject): string {
    const { id, created, model } = this.#facts
    const chunk = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model, choices, ...more }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
}
