import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type AnswerEvent,
  AnswerFault,
  asList,
  asObject,
  asText,
  eventsOfPart,
  type JsonObject,
  optional,
  type ParseFacts,
  parseJson,
  type Part,
  type StreamParser,
  type StreamRecord,
  valueAt,
} from '../neutral/index.ts'
import { parseLogprobs, parsePart, parseProblem, parseStop, parseUsage } from './parse-answer.ts'

/** Parses `streamGenerateContent`: texts in pieces, complete calls and media, and no mark of the end. */
export class GenerateStreamParser implements StreamParser {
  readonly #facts: ParseFacts
  readonly #kinds: Pick<Part, 'kind'>[] = []
  #open: { readonly kind: 'text' | 'thought'; readonly at: number } | undefined
  #hasStarted = false
  #reason: Json | undefined
  #isOver = false

  constructor(facts: ParseFacts) {
    this.#facts = facts
  }

  read({ data }: StreamRecord): readonly AnswerEvent[] {
    if (this.#isOver || data === '') return []
    const record = asObject(parseJson(data))
    if (!record) return this.#fail({ status: 502, message: 'a record of it is not JSON' })
    if (asObject(record['error'])) return this.#fail(parseProblem(502, record))
    const usage = parseUsage(record['usageMetadata'])
    // Every record contains the usage. It is sent before `start`, so that clients whose formats begin with the input's
    // tokens get the vendor's count.
    const events: AnswerEvent[] = [...(usage ? [{ kind: 'usage', usage } as const] : []), ...this.#start(record)]
    const candidate = asObject(asList(record['candidates'])[0])
    for (const part of asList(valueAt(candidate?.['content'], 'parts'))) {
      const parts = parsePart(part, `${this.#facts.id}_${this.#kinds.length}`, this.#facts)
      // The signature of a thought may be in an empty part after its text.
      const [only] = parts
      const isRest = parts.length === 1 && only?.kind === 'thought' && this.#open?.kind === 'thought'
      for (const one of parts) this.#add(one, isRest, events)
    }
    const tokens = parseLogprobs(candidate?.['logprobsResult'])
    if (tokens.length > 0 && this.#open?.kind === 'text') events.push({ kind: 'logprobs', at: this.#open.at, tokens })
    // Some models repeat `STOP` in every record, so that only the last reason counts.
    this.#reason = candidate?.['finishReason'] ?? valueAt(record, 'promptFeedback', 'blockReason') ?? this.#reason
    return events
  }

  /** The finish reason may precede the last usage, and both are complete only at the end of the stream. */
  end(): readonly AnswerEvent[] {
    if (this.#isOver) return []
    if (this.#reason === undefined) return this.#fail({ status: 502, message: 'it ended before its last event' })
    const events: AnswerEvent[] = []
    this.#close(events)
    try {
      const stop = parseStop(this.#reason, this.#kinds)
      this.#isOver = true
      return [...events, { kind: 'finish', stop }, { kind: 'end' }]
    } catch (fault) {
      if (!(fault instanceof AnswerFault)) throw fault
      return this.#fail({ status: 502, message: fault.message, ...optional('code', asText(this.#reason)) })
    }
  }

  #start(record: JsonObject): readonly AnswerEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    const id = asText(record['responseId'])
    return [{ kind: 'start', ...optional('id', id), ...optional('model', asText(record['modelVersion'])) }]
  }

  #add(part: Part, isRest: boolean, events: AnswerEvent[]): void {
    const isText = part.kind === 'text' || (part.kind === 'thought' && (isRest || part.form !== 'hidden'))
    if (!isText) {
      this.#close(events)
      events.push(...eventsOfPart(part, this.#begin(part)))
      return
    }
    const { text, seal } = part
    if (this.#open?.kind !== part.kind) {
      this.#close(events)
      const at = this.#begin(part)
      events.push({
        kind: 'open',
        at,
        part: part.kind === 'text' ? { kind: 'text' } : { kind: 'thought', form: 'summary' },
      })
      this.#open = { kind: part.kind, at }
    }
    const { at } = this.#open as { readonly at: number }
    if (text !== '') events.push({ kind: 'text', at, text })
    if (seal) events.push({ kind: 'seal', at, seal })
  }

  #begin({ kind }: Part): number {
    this.#kinds.push({ kind })
    return this.#kinds.length - 1
  }

  #close(events: AnswerEvent[]): void {
    if (this.#open) events.push({ kind: 'close', at: this.#open.at })
    this.#open = undefined
  }

  #fail(problem: Extract<AnswerEvent, { kind: 'error' }>['problem']): readonly AnswerEvent[] {
    this.#isOver = true
    return [{ kind: 'error', problem }]
  }
}
