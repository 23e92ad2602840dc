import {
  type AnswerEvent,
  type AnswerUsage,
  isBrokenCall,
  type JsonObject,
  type Part,
  type PartHead,
  type Seal,
  type Stop,
  type StreamWriter,
  type WriteFacts,
} from '../neutral/index.ts'
import { signature, writeLogprobs, writePart, writeRecord, writeStop } from './write-answer.ts'

type OpenPart = { readonly head: PartHead; text: string; seal?: Seal }

/**
 * Writes `streamGenerateContent`. Calls wait until they are complete, because the format cannot split them; texts do
 * not wait. The last record contains the finish reason and the usage.
 */
export class GenerateStreamWriter implements StreamWriter {
  readonly #facts: WriteFacts
  readonly #parts = new Map<number, OpenPart>()
  #stop: Stop = { why: 'end' }
  #usage: AnswerUsage | undefined
  #hasWritten = false
  /** A call whose arguments are not an object: the token limit has cut them, or the answer is invalid. */
  #broken: Part | undefined

  constructor(facts: WriteFacts) {
    this.#facts = facts
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'open':
        this.#parts.set(event.at, { head: event.part, text: '' })
        return ''
      case 'usage':
        this.#usage = { input: 0, output: 0, ...this.#usage, ...event.usage }
        return ''
      case 'finish':
        this.#stop = event.stop
        return this.#broken && event.stop.why !== 'length' ? this.#record(writePart(this.#broken)) : ''
      case 'end': {
        const last = this.#record([], { finishReason: writeStop(this.#stop) }, this.#usage)
        return this.#facts.form === 'list' ? `${last}]` : last
      }
      case 'start':
      case 'error':
        return ''
      default:
        return this.#more(this.#parts.get(event.at), event)
    }
  }

  #more(open: OpenPart | undefined, event: Exclude<AnswerEvent, { kind: 'open' }> & { readonly at: number }): string {
    if (!open) return ''
    const { head } = open
    if (event.kind === 'close') {
      this.#parts.delete(event.at)
      const whole = wholePart(open)
      if (whole && isBrokenCall(whole)) this.#broken = whole
      else if (whole) return this.#record(writePart(whole))
      return ''
    }
    if (event.kind === 'logprobs') return this.#record([], { logprobsResult: writeLogprobs(event.tokens) })
    if (head.kind === 'call') {
      if (event.kind === 'text') open.text += event.text
      if (event.kind === 'seal') open.seal = event.seal
      return ''
    }
    const thought = head.kind === 'thought' ? { thought: true } : {}
    if (event.kind === 'text') return this.#record([{ text: event.text, ...thought }])
    if (event.kind === 'seal') return this.#record([{ text: '', ...thought, ...signature(event.seal) }])
    return ''
  }

  #record(parts: readonly JsonObject[], more: JsonObject = {}, usage?: AnswerUsage): string {
    const json = JSON.stringify(writeRecord(this.#facts, { parts, more, usage }))
    if (this.#facts.form === 'events') return `data: ${json}\n\n`
    const before = this.#hasWritten ? ',\n' : '['
    this.#hasWritten = true
    return before + json
  }
}

/** Parts that are written as a whole; the others were written piece by piece. */
function wholePart({ head, text, seal }: OpenPart): Part | undefined {
  if (head.kind === 'call') return { ...head, arguments: text, ...(seal && { seal }) }
  return head.kind === 'media' ? head : undefined
}
